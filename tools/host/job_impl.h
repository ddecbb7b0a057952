// The inside of Job: an I/O thread that runs the cores of all stripes, and an inbox through which other
// threads reach it. Private to job.cc and its parts.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tools/host/chunk_split.h"
#include "tools/host/job.h"

namespace l3dml::host {

struct Job::Handle::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  absl::Status status;
};

class Job::Impl final : public PacketReceiver {
 public:
  Impl(const JobConfig& config, std::unique_ptr<Transport> transport);
  ~Impl() override;

  absl::Status start();
  void stop();  // ends the I/O thread; what is not done fails
  void submit(const Request& request, Callback callback);
  void fail(const absl::Status& reason);
  absl::Status status() const;
  // Runs a function on the I/O thread and waits; on the caller's once that has ended.
  void call(const std::function<void()>& function);

  const JobConfig& config() const { return config_; }
  WorkerCore& core(unsigned stripe) { return *cores_[stripe]; }
  JobStats stats();
  void redirect(unsigned stripe, const StripeConfig& config) { transport_->redirect(stripe, config); }
  void note_progress();                                        // I/O thread
  absl::Status set_shares(const std::vector<double>& shares);  // I/O thread

 private:
  struct Pending {  // a collective that is not done on all stripes
    Request request;
    Callback callback;
    unsigned stripes_left = 0;
    int64_t abstain_after_ns = base::kNever;
    CollectiveResult result;
  };

  void run();
  int64_t step();  // one round of the I/O thread; returns when the next is due
  int64_t quiet_ns() const;
  void begin(const Request& request, Callback callback);
  absl::Status submit_to_cores(uint64_t id);
  void on_result(const CollectiveResult& result);
  void check_timeout(int64_t now_ns);
  void fail_pending();
  std::string describe(uint64_t id, const Request& request) const;
  std::string describe_missing(uint64_t id) const;
  absl::Status outcome(uint64_t id, const Pending& pending) const;
  void on_packet(unsigned stripe, const wire::L3dmlHeader& header, const uint8_t* lanes, size_t lane_count,
                 unsigned shard, bool ce, int64_t now_ns) override;

  const JobConfig config_;
  std::unique_ptr<Transport> transport_;
  ChunkSplit split_;

  mutable std::mutex mutex_;
  std::vector<std::function<void()>> inbox_;  // run on the I/O thread in order
  bool stopping_ = false, running_ = false;
  absl::Status status_;  // not OK: the job has failed
  std::thread thread_;

  // I/O thread only, from here on.
  std::vector<std::unique_ptr<WorkerCore>> cores_;
  std::unordered_map<uint64_t, Pending> pending_;
  uint64_t next_id_ = 0;
  bool received_ = false;    // something, in this round
  uint64_t progress_ = 0;    // chunks and passes finished, when last looked
  int64_t progress_ns_ = 0;  // when it last grew
  uint64_t done_collectives_ = 0, done_bytes_ = 0;
};

}  // namespace l3dml::host
