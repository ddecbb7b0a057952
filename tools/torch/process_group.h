// The c10d process group `l3dml`: allreduce of sums and averages through the switches, everything else by an
// inner gloo group over the same store. Any thread; ranks make the same calls in the same order, as c10d
// demands.
//
// Who is still there is the controller's to say where the group has joined by one, else leases in the c10d
// store tell. A member that is gone ends all calls, now and later, with an error that names it, or, where the
// job's owner wants that of the controller, the others go on without it. Destroying the group is a barrier
// among all members (DESIGN section 5), bounded by the timeout; abandon() is the way out without it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dataplane/kernels/codec.h"
#include "tools/host/job.h"
#include "tools/member/membership.h"
#include "tools/torch/leases.h"
#include "tools/torch/step_keys.h"
#include "tools/torch/work.h"

namespace l3dml::pytorch {

struct GroupOptions {
  kernels::LaneFormat format = kernels::LaneFormat::kFixed32;
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds lease{5'000};  // silent for so long means gone
  bool raise_non_finite = true;            // false: NaN everywhere, as gradient scalers expect
};

// A rank's place in its job, taken before there is a group.
struct Seat {
  host::JobConfig config;
  std::unique_ptr<host::Job> job;
  std::unique_ptr<member::Membership> member;  // null: by a job file. Ends before the job
};

class ProcessGroupL3dml final : public c10d::ProcessGroup {
 public:
  // `gloo` null: this rank came to a running job, which has none for it; then sums and averages are all.
  ProcessGroupL3dml(Seat seat, int rank, c10::intrusive_ptr<c10d::ProcessGroup> gloo,
                    c10::intrusive_ptr<c10d::Store> leases, const GroupOptions& options);
  ~ProcessGroupL3dml() override;

  const std::string getBackendName() const override { return "l3dml"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;

  // Of the calls that follow; all ranks set the same.
  void set_format(kernels::LaneFormat format) { format_ = format; }
  kernels::LaneFormat format() const { return format_; }
  host::JobStats stats() { return job_->stats(); }
  // Of the group's sums, the one that is this rank's first: 0 unless it came to a running job.
  uint64_t first_sum() const { return member_ ? member_->first_collective() : 0; }
  // No barrier when the group goes: this process ends, maybe badly. The others learn it from the lease.
  void abandon();

  // By the inner group.
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  Work allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  Work allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& options) override;
  Work _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  Work allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                           const c10d::AllgatherOptions& options) override;
  Work gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  Work scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  Work reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ReduceScatterOptions& options) override;
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override;
  Work alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                     std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override;
  Work alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  Work send(Tensors& tensors, int to, int tag) override;
  Work recv(Tensors& tensors, int from, int tag) override;
  Work recvAnysource(Tensors& tensors, int tag) override;
  Work barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override;
  uint64_t getSequenceNumberForGroup() override;

 private:
  c10d::ProcessGroup& gloo() const;  // throws if there is none

  const std::chrono::milliseconds timeout_;
  const bool raise_non_finite_;
  std::atomic<kernels::LaneFormat> format_;
  std::atomic<bool> abandoned_ = false;
  c10::intrusive_ptr<c10d::ProcessGroup> gloo_;

  std::mutex submitting_;  // keys and the job see collectives in one order
  StepKeys keys_;
  Residuals residuals_;
  // Ends in this order, last first: leases may fail the job, the job's last callbacks post to the finisher.
  Finisher finisher_;
  std::unique_ptr<host::Job> job_;
  std::unique_ptr<member::Membership> member_;  // null: by a job file
  Leases leases_;
};

}  // namespace l3dml::pytorch
