#include "dataplane/pipeline/worker_group.h"

namespace l3dml::pipeline {

WorkerGroup::WorkerGroup(const base::Clock& clock, std::function<void()> enter, std::function<void()> leave)
    : clock_(clock), enter_(std::move(enter)), leave_(std::move(leave)) {}

WorkerGroup::~WorkerGroup() { stop(); }

Worker& WorkerGroup::add(const Worker::Options& options) {
  workers_.push_back(std::make_unique<Worker>(options));
  return *workers_.back();
}

void WorkerGroup::start() {
  const std::lock_guard lock(run_mutex_);
  for (const auto& worker : workers_)
    threads_.emplace_back([this, &worker = *worker] {
      if (enter_) enter_();
      worker.run(clock_, *this);
      if (leave_) leave_();
    });
}

void WorkerGroup::stop() {
  const std::lock_guard lock(run_mutex_);
  for (const auto& worker : workers_) worker->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerGroup::run(const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  const bool nested = runner_ == std::this_thread::get_id();
  lock.unlock();
  if (nested) return function();
  const std::lock_guard run_lock(run_mutex_);
  lock.lock();
  runner_ = std::this_thread::get_id();
  standing_ = 0;
  lock.unlock();
  if (!threads_.empty())
    for (const auto& worker : workers_) worker->ask_to_stand();
  lock.lock();
  standing_changed_.wait(lock, [this] { return threads_.empty() || standing_ == workers_.size(); });
  lock.unlock();
  struct Resume {
    WorkerGroup& group;
    ~Resume() {  // also when the function throws
      const std::lock_guard resume_lock(group.mutex_);
      group.runner_ = {};
      ++group.generation_;
      group.resumed_.notify_all();
    }
  } const resume{*this};
  function();
}

void WorkerGroup::stand() {
  std::unique_lock lock(mutex_);
  const uint64_t generation = generation_;
  ++standing_;
  standing_changed_.notify_one();
  resumed_.wait(lock, [&] { return generation_ != generation; });
}

}  // namespace l3dml::pipeline
