// A rank's membership in a job: allreduce over all stripes, from any thread. Owns one I/O thread that runs
// the worker cores and sleeps when nothing is to do.
//
//   auto config = load_job_config("rank0.json");
//   auto job = Job::create(*config, std::make_unique<UdpTransport>());
//   Status done = (*job)->allreduce({.input = x, .output = x, .count = n}).wait();
//
// All ranks make the same calls in the same order. A job that has failed (time-out, fail()) stays failed:
// ranks are out of step. A collective with values that are not finite fails alone, on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/host/collective.h"
#include "tools/host/job_config.h"
#include "tools/host/transport.h"
#include "tools/host/worker_core.h"

namespace l3dml::host {

struct Request {
  const void* input = nullptr;  // untouched until the request is done
  void* output = nullptr;       // may be input
  size_t count = 0;             // elements
  kernels::ElementType type = kernels::ElementType::kFloat32;
  kernels::LaneFormat format = kernels::LaneFormat::kFixed32;  // of the lanes; integers are always fixed32
  ReduceOp op = ReduceOp::sum;
  uint64_t key = 0;              // names the recurring place in the training step (collective.h)
  float* residual = nullptr;     // error feedback (collective.h); one float per element, kept by the caller
  int64_t abstain_after_ns = 0;  // relative to submission; 0: as the job says
};

struct JobStats {
  WorkerStats total;  // summed over stripes; times are those of the slowest
  std::vector<WorkerStats> stripes;
  uint64_t collectives = 0, bytes = 0;  // finished, of tensors
};

class Job {
 public:
  // Called once, on the I/O thread (or on the caller's if the job has failed already); must not block.
  using Callback = std::function<void(const absl::Status&)>;

  // Something to wait for; may outlive the job, copies share the state.
  class Handle {
   public:
    absl::Status wait() const;  // until done
    bool done() const;
    struct State;
    explicit Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}
    Handle() = default;

   private:
    std::shared_ptr<State> state_;
  };

  static absl::StatusOr<std::unique_ptr<Job>> create(const JobConfig& config,
                                                     std::unique_ptr<Transport> transport);
  ~Job();  // without close(): others may be left waiting for us
  Job(const Job&) = delete;

  Handle allreduce(const Request& request);
  void allreduce(const Request& request,
                 Callback callback);  // a refused request is reported through it as well

  // Liveness decided that the job cannot go on ("rank 3 on host b is gone"): all calls, now and later, end
  // with this.
  void fail(const std::string& reason);
  absl::Status status() const;  // OK while the job works

  // Waits until every rank has called it (a barrier through the switches), then ends the I/O thread.
  // Idempotent.
  absl::Status close();

  // ---- epoch change, for the agent of the coordinator. Any thread; each waits for the I/O thread.
  void pause(unsigned stripe);
  StripeReport report(unsigned stripe);
  absl::StatusOr<ResultCopy> copy(unsigned stripe, uint32_t number);
  absl::Status install(unsigned stripe, const ResultCopy& copy);
  absl::Status resume(unsigned stripe, const StripeConfig& config,
                      std::optional<StartingPoint> start = std::nullopt);
  void set_stop_before(unsigned stripe, std::optional<uint64_t> collective);
  // Deals chunks anew, by these shares. All stripes paused, and nothing begun that is not finished: first
  // set_stop_before() the same collective on all, and let what is before it end.
  absl::Status set_shares(const std::vector<double>& shares);

  JobStats stats();
  const JobConfig& config() const;

 private:
  class Impl;
  explicit Job(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace l3dml::host
