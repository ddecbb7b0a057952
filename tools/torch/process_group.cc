#include "tools/torch/process_group.h"

#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <pybind11/pybind11.h>

namespace l3dml::pytorch {
namespace {

using c10d::ReduceOp;
using kernels::ElementType;
using kernels::LaneFormat;

// Fewer elements than this are sent exactly whatever the format: a loss or a count is not a gradient.
constexpr int64_t kAlwaysFixed32 = 1024;

std::optional<ElementType> element_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ElementType::kFloat32;
    case at::kDouble:
      return ElementType::kFloat64;
    case at::kHalf:
      return ElementType::kFloat16;
    case at::kBFloat16:
      return ElementType::kBfloat16;
    case at::kInt:
      return ElementType::kInt32;
    default:
      return std::nullopt;
  }
}

std::optional<host::ReduceOp> reduce_op(const ReduceOp& op) {
  switch (static_cast<ReduceOp::RedOpType>(op)) {
    case ReduceOp::SUM:
      return host::ReduceOp::sum;
    case ReduceOp::AVG:
      return host::ReduceOp::average;
    default:
      return std::nullopt;
  }
}

// Contiguous host memory: the tensor itself if it is that, else a copy; pinned if it comes from a GPU.
at::Tensor stage(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor.is_contiguous() ? tensor : tensor.contiguous();
  at::Tensor staged = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
  staged.copy_(tensor);  // waits for the device's stream
  return staged;
}

// The error that a work ends with; empty if none.
std::string outcome(const absl::Status& status, bool raise_non_finite, const at::Tensor& staged) {
  if (status.ok()) return "";
  if (status.code() == absl::StatusCode::kOutOfRange && !raise_non_finite) {
    at::Tensor(staged).fill_(std::numeric_limits<double>::quiet_NaN());
    return "";
  }
  return std::string(status.message());
}

}  // namespace

ProcessGroupL3dml::ProcessGroupL3dml(Seat seat, int rank, c10::intrusive_ptr<c10d::ProcessGroup> gloo,
                                     c10::intrusive_ptr<c10d::Store> leases, const GroupOptions& options)
    : ProcessGroup(rank, static_cast<int>(seat.config.world)),
      timeout_(options.timeout),
      raise_non_finite_(options.raise_non_finite),
      format_(options.format),
      gloo_(std::move(gloo)),
      job_(std::move(seat.job)),
      member_(std::move(seat.member)),
      leases_(
          std::move(leases), rank_, size_, options.lease,
          member_ ? Leases::Lost() : [this](const std::string& reason) { job_->fail(reason); }) {}

ProcessGroupL3dml::~ProcessGroupL3dml() {
  // Who lets go of the group may hold the interpreter lock, which callbacks of unfinished works may need.
  std::optional<pybind11::gil_scoped_release> release;
  if (Py_IsInitialized() && PyGILState_Check()) release.emplace();
  // Only when every member has said that it calls nothing more does the job's own barrier match no
  // collective.
  if (abandoned_ || !job_->status().ok() || !leases_.close(timeout_) || !job_->close().ok()) return;
  if (member_) member_->leave();
}

c10d::ProcessGroup& ProcessGroupL3dml::gloo() const {
  if (!gloo_)
    throw std::runtime_error(
        "l3dml: this rank came to a running job: it may sum and average, for anything else all ranks must "
        "begin together");
  return *gloo_;
}

void ProcessGroupL3dml::abandon() { abandoned_ = true; }

c10::intrusive_ptr<c10d::Work> ProcessGroupL3dml::allreduce(std::vector<at::Tensor>& tensors,
                                                            const c10d::AllreduceOptions& options) {
  const auto op = reduce_op(options.reduceOp);
  const bool dense = tensors.size() == 1 && tensors[0].layout() == at::kStrided;
  const auto type = dense ? element_type(tensors[0].scalar_type()) : std::nullopt;
  if (!op || !type) return gloo().allreduce(tensors, options);

  const at::Tensor& tensor = tensors[0];
  const LaneFormat format = tensor.numel() < kAlwaysFixed32 ? LaneFormat::kFixed32 : format_.load();
  const bool lossy = format != LaneFormat::kFixed32 && *type != ElementType::kInt32;
  at::Tensor staged = stage(tensor);

  const std::lock_guard lock(submitting_);
  host::Request request;
  request.input = request.output = staged.data_ptr();
  request.count = static_cast<size_t>(staged.numel());
  request.type = *type;
  request.format = format;
  request.op = *op;
  request.key = keys_.next(
      static_cast<uint64_t>(*type) << 16 | static_cast<uint64_t>(format) << 8 | static_cast<uint64_t>(*op),
      request.count);
  const auto work = c10::make_intrusive<AllreduceWork>(
      rank_, tensor, std::move(staged), lossy ? residuals_.lend(request.key, request.count) : nullptr);
  request.residual = work->residual();
  job_->allreduce(request, [this, work](const absl::Status& status) {
    finisher_.post([work, status, raise = raise_non_finite_] {
      work->complete(outcome(status, raise, work->staged()));
    });
  });
  return work;
}

using Work = ProcessGroupL3dml::Work;

Work ProcessGroupL3dml::allreduce_coalesced(Tensors& tensors,
                                            const c10d::AllreduceCoalescedOptions& options) {
  return gloo().allreduce_coalesced(tensors, options);
}
Work ProcessGroupL3dml::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return gloo().broadcast(tensors, options);
}
Work ProcessGroupL3dml::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return gloo().reduce(tensors, options);
}
Work ProcessGroupL3dml::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) {
  return gloo().allgather(outputs, inputs, options);
}
Work ProcessGroupL3dml::_allgather_base(at::Tensor& output, at::Tensor& input,
                                        const c10d::AllgatherOptions& options) {
  return gloo()._allgather_base(output, input, options);
}
Work ProcessGroupL3dml::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& options) {
  return gloo().allgather_coalesced(outputs, inputs, options);
}
Work ProcessGroupL3dml::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                               const c10d::GatherOptions& options) {
  return gloo().gather(outputs, inputs, options);
}
Work ProcessGroupL3dml::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                const c10d::ScatterOptions& options) {
  return gloo().scatter(outputs, inputs, options);
}
Work ProcessGroupL3dml::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                       const c10d::ReduceScatterOptions& options) {
  return gloo().reduce_scatter(outputs, inputs, options);
}
Work ProcessGroupL3dml::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                             const c10d::ReduceScatterOptions& options) {
  return gloo()._reduce_scatter_base(output, input, options);
}
Work ProcessGroupL3dml::alltoall_base(at::Tensor& output, at::Tensor& input,
                                      std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                                      const c10d::AllToAllOptions& options) {
  return gloo().alltoall_base(output, input, output_sizes, input_sizes, options);
}
Work ProcessGroupL3dml::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  return gloo().alltoall(outputs, inputs, options);
}
Work ProcessGroupL3dml::send(Tensors& tensors, int to, int tag) { return gloo().send(tensors, to, tag); }
Work ProcessGroupL3dml::recv(Tensors& tensors, int from, int tag) { return gloo().recv(tensors, from, tag); }
Work ProcessGroupL3dml::recvAnysource(Tensors& tensors, int tag) {
  return gloo().recvAnysource(tensors, tag);
}
Work ProcessGroupL3dml::barrier(const c10d::BarrierOptions& options) { return gloo().barrier(options); }
void ProcessGroupL3dml::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  gloo().monitoredBarrier(options, wait_all_ranks);
}
void ProcessGroupL3dml::setSequenceNumberForGroup() { gloo().setSequenceNumberForGroup(); }
uint64_t ProcessGroupL3dml::getSequenceNumberForGroup() { return gloo().getSequenceNumberForGroup(); }

}  // namespace l3dml::pytorch
