#include "tools/host/job.h"

#include "tools/host/job_impl.h"

namespace l3dml::host {

absl::Status Job::Handle::wait() const {
  if (!state_) return absl::FailedPreconditionError("nothing to wait for");
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->done; });
  return state_->status;
}

bool Job::Handle::done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

absl::StatusOr<std::unique_ptr<Job>> Job::create(const JobConfig& config,
                                                 std::unique_ptr<Transport> transport) {
  if (absl::Status status = validate(config); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(config, std::move(transport));
  if (absl::Status status = impl->start(); !status.ok()) return status;
  return std::unique_ptr<Job>(new Job(std::move(impl)));
}

Job::Job(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::~Job() = default;

Job::Handle Job::allreduce(const Request& request) {
  auto state = std::make_shared<Handle::State>();
  allreduce(request, [state](const absl::Status& status) {
    const std::lock_guard lock(state->mutex);
    state->done = true;
    state->status = status;
    state->changed.notify_all();
  });
  return Handle(std::move(state));
}

void Job::allreduce(const Request& request, Callback callback) {
  impl_->submit(request, std::move(callback));
}

void Job::fail(const std::string& reason) { impl_->fail(absl::AbortedError(reason)); }
absl::Status Job::status() const { return impl_->status(); }

absl::Status Job::close() {
  absl::Status status = impl_->status();
  if (absl::IsCancelled(status)) return absl::OkStatus();  // closed before
  if (status.ok()) {
    int32_t present = 1;
    Request barrier;
    barrier.input = barrier.output = &present;
    barrier.count = 1;
    barrier.type = kernels::ElementType::kInt32;
    status = allreduce(barrier).wait();
  }
  impl_->stop();
  return status;
}

void Job::pause(unsigned stripe) {
  impl_->call([&] { impl_->core(stripe).pause(); });
}

StripeReport Job::report(unsigned stripe) {
  StripeReport report;
  impl_->call([&] { report = impl_->core(stripe).report(); });
  return report;
}

absl::StatusOr<ResultCopy> Job::copy(unsigned stripe, uint32_t number) {
  std::optional<ResultCopy> copy;
  impl_->call([&] { copy = impl_->core(stripe).copy(number); });
  if (!copy) return absl::NotFoundError("this rank does not hold result " + std::to_string(number));
  return *std::move(copy);
}

absl::Status Job::install(unsigned stripe, const ResultCopy& copy) {
  absl::Status status;
  impl_->call([&] { status = impl_->core(stripe).install(copy); });
  return status;
}

absl::Status Job::resume(unsigned stripe, const StripeConfig& config, std::optional<StartingPoint> start) {
  absl::Status status;
  impl_->call([&] {
    status = impl_->core(stripe).resume(config, start);
    if (status.ok()) impl_->redirect(stripe, config);
    impl_->note_progress();
  });
  return status;
}

void Job::set_stop_before(unsigned stripe, std::optional<uint64_t> collective) {
  impl_->call([&] { impl_->core(stripe).set_stop_before(collective); });
}

absl::Status Job::set_shares(const std::vector<double>& shares) {
  absl::Status status;
  impl_->call([&] { status = impl_->set_shares(shares); });
  return status;
}

JobStats Job::stats() {
  JobStats stats;
  impl_->call([&] { stats = impl_->stats(); });
  return stats;
}

const JobConfig& Job::config() const { return impl_->config(); }

}  // namespace l3dml::host
