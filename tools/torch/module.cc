// The Python extension `l3dml_torch._core`: makes the process group. What users see is
// l3dml_torch/__init__.py.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "tools/host/udp_transport.h"
#include "tools/torch/process_group.h"

namespace l3dml::pytorch {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

ProcessGroupL3dml& ours(const Group& group) {
  auto* found = dynamic_cast<ProcessGroupL3dml*>(group.get());
  if (!found) throw std::invalid_argument("this process group is not of the l3dml backend");
  return *found;
}

kernels::LaneFormat format_of(const std::string& name) {
  if (name == "fixed32") return kernels::LaneFormat::kFixed32;
  if (name == "fixed16x2") return kernels::LaneFormat::kFixed16x2;
  if (name == "fixed8x4") return kernels::LaneFormat::kFixed8x4;
  throw std::invalid_argument("lane format '" + name + "' is unknown: fixed32, fixed16x2 or fixed8x4");
}
std::string name_of(kernels::LaneFormat format) {
  static constexpr const char* kNames[] = {"fixed32", "fixed16x2", "fixed8x4"};
  return kNames[static_cast<size_t>(format)];
}

template <typename T>
T value_or_throw(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error("l3dml: " + std::string(result.status().message()));
  return *std::move(result);
}

// By the controller, or where none is named by a job file.
std::shared_ptr<Seat> take_seat(const std::string& job, const std::string& controller,
                                const std::string& token, const std::string& host,
                                const std::string& processes, const std::string& device, uint32_t rank,
                                uint32_t world, std::chrono::milliseconds timeout) {
  auto seat = std::make_shared<Seat>();
  if (controller.empty()) {
    seat->config = value_or_throw(host::load_job_config(job));
  } else {
    member::MemberOptions options = member::options_from_environment();
    options.controller = controller;
    options.job = job;
    options.token = token;
    options.host = host;
    options.group = processes;
    // Its numbers are the job's where hosts come in the order of ranks; a launcher may have dealt them
    // otherwise.
    options.rank = static_cast<int>(rank);
    auto member = member::Membership::join(options);
    if (member.status().code() == absl::StatusCode::kNotFound) {
      options.rank = -1;
      member = member::Membership::join(options);
    }
    seat->member = value_or_throw(std::move(member));
    seat->config = seat->member->config();
  }
  host::JobConfig& config = seat->config;
  if ((!seat->member && config.rank != rank) || config.world != world)
    throw std::runtime_error("l3dml: " + job + " is for rank " + std::to_string(config.rank) + " of " +
                             std::to_string(config.world) + ", but this process is rank " +
                             std::to_string(rank) + " of " + std::to_string(world));
  config.timeout_ns = std::min<int64_t>(config.timeout_ns, timeout / std::chrono::nanoseconds(1));
  host::UdpOptions udp;
  udp.device = device;
  seat->job = value_or_throw(host::Job::create(config, std::make_unique<host::UdpTransport>(udp)));
  if (seat->member)
    if (const absl::Status s = seat->member->attend(seat->job.get()); !s.ok())
      throw std::runtime_error("l3dml: " + std::string(s.message()));
  return seat;
}

Group create(const std::shared_ptr<Seat>& seat, int rank, const Group& gloo,
             const c10::intrusive_ptr<c10d::Store>& leases, const std::string& format,
             std::chrono::milliseconds lease, bool raise_non_finite) {
  GroupOptions options;
  options.format = format_of(format);
  options.timeout = std::chrono::milliseconds(seat->config.timeout_ns / 1'000'000);
  options.lease = std::min(lease, options.timeout / 2);
  options.raise_non_finite = raise_non_finite;
  if (!kernels::Codec(kernels::ElementType::kFloat32, options.format, seat->config.world).usable())
    throw std::runtime_error("l3dml: " + format + " has no room for the sum of " +
                             std::to_string(seat->config.world) + " workers: use fixed16x2 or fixed32");
  return c10::make_intrusive<ProcessGroupL3dml>(std::move(*seat), rank, gloo, leases, options);
}

pybind11::dict dict_of(const host::WorkerStats& s) {
  pybind11::dict d;
#define L3DML_FIELD(name) d[#name] = s.name
  L3DML_FIELD(ups), L3DML_FIELD(empty_ups), L3DML_FIELD(retransmitted), L3DML_FIELD(wire_bytes);
  L3DML_FIELD(nacks_sent), L3DML_FIELD(syncs_sent), L3DML_FIELD(probes_sent), L3DML_FIELD(downs);
  L3DML_FIELD(downs_ignored), L3DML_FIELD(downs_missing), L3DML_FIELD(nacks_received), L3DML_FIELD(nacked);
  L3DML_FIELD(probes_answered), L3DML_FIELD(probe_missing), L3DML_FIELD(probe_timeouts), L3DML_FIELD(refused);
  L3DML_FIELD(congested), L3DML_FIELD(chunks), L3DML_FIELD(repeats), L3DML_FIELD(asked),
      L3DML_FIELD(abstained);
  L3DML_FIELD(segment_rtt_ns), L3DML_FIELD(result_time_ns), L3DML_FIELD(probe_time_ns);
#undef L3DML_FIELD
  return d;
}

pybind11::dict stats(const Group& group) {
  host::JobStats s;
  {
    const pybind11::gil_scoped_release release;
    s = ours(group).stats();
  }
  pybind11::dict d = dict_of(s.total);
  d["collectives"] = s.collectives;
  d["bytes"] = s.bytes;
  pybind11::list stripes;
  for (const host::WorkerStats& stripe : s.stripes) stripes.append(dict_of(stripe));
  d["stripes"] = stripes;
  return d;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  using pybind11::arg;
  pybind11::class_<Seat, std::shared_ptr<Seat>>(m, "Seat").def_property_readonly(
      "joins_running", [](const Seat& seat) { return seat.member && seat.member->joins_running(); });
  m.def("take_seat", &take_seat, pybind11::call_guard<pybind11::gil_scoped_release>(), arg("job"),
        arg("controller"), arg("token"), arg("host"), arg("processes"), arg("device"), arg("rank"),
        arg("world"), arg("timeout"));
  m.def("create", &create, pybind11::call_guard<pybind11::gil_scoped_release>(), arg("seat"), arg("rank"),
        arg("gloo"), arg("leases"), arg("format"), arg("lease"), arg("raise_non_finite"));
  m.def("first_sum", [](const Group& group) { return ours(group).first_sum(); });
  m.def("stats", &stats);
  m.def("abandon", [](const Group& group) { ours(group).abandon(); });
  m.def("format", [](const Group& group) { return name_of(ours(group).format()); });
  m.def("set_format",
        [](const Group& group, const std::string& format) { ours(group).set_format(format_of(format)); });
}

}  // namespace l3dml::pytorch
