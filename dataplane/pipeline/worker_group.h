// The workers of a process and their threads. As tna::Executor it runs a function while all of them stand
// between two rounds: what the driver changes, packets see before or after, never in between.
//
// Threads: run() from any but a worker's; calls are served one after the other; from inside the function it
// runs at once. Before start() and after stop() the function simply runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "dataplane/pipeline/worker.h"

namespace l3dml::pipeline {

class WorkerGroup final : public tna::Executor, private Worker::Stand {
 public:
  // `enter` and `leave` run on each worker's thread, first and last (DPDK registration).
  explicit WorkerGroup(const base::Clock& clock, std::function<void()> enter = {},
                       std::function<void()> leave = {});
  ~WorkerGroup() override;

  Worker& add(const Worker::Options& options);
  Worker& worker(size_t index) { return *workers_[index]; }
  size_t size() const { return workers_.size(); }

  void start();
  void stop();
  void run(const std::function<void()>& function) override;

 private:
  void stand() override;

  const base::Clock& clock_;
  std::function<void()> enter_, leave_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::mutex run_mutex_;    // held for a whole run(), start() and stop()
  std::thread::id runner_;  // who is inside run(); guarded by mutex_
  std::mutex mutex_;
  std::condition_variable standing_changed_, resumed_;
  size_t standing_ = 0;      // workers that stand in this round
  uint64_t generation_ = 0;  // counts runs
};

}  // namespace l3dml::pipeline
