#include "tools/gen/program.h"

#include <algorithm>
#include <bit>
#include <map>

#include "absl/strings/str_cat.h"
#include "control/api/member_config.h"
#include "control/install/install.h"
#include "control/jobs/compiler.h"
#include "control/routing/routes.h"
#include "control/target/bfrt_target.h"

namespace l3dml::gen {
namespace {

using control::HostId;

absl::StatusOr<control::Topology> topology_of(const std::vector<JobShape>& jobs,
                                              const std::vector<uint16_t>& device_ports) {
  size_t most = 0;
  for (const JobShape& job : jobs) most = std::max<size_t>(most, job.workers);
  control::Topology topology;
  const auto site = topology.add_site("tested");
  if (!site.ok()) return site.status();
  for (size_t port = 0; port < std::min(most, device_ports.size()); ++port)
    if (const auto host = topology.add_host(absl::StrCat("port", port), *site, 0, 0, device_ports[port]);
        !host.ok())
      return host.status();
  return topology;
}

// The windows that let all jobs have their rings.
uint32_t window_of(const control::Capability& capability, size_t jobs, uint32_t most) {
  const auto each = static_cast<uint32_t>(capability.slots / (2 * std::max<size_t>(1, jobs)));
  return std::min(std::bit_floor(std::max(each, control::kMinWindow)), most);
}

absl::Status install(control::target::SwitchTarget& device, const control::Topology& topology,
                     const std::vector<control::JobPlan>& plans) {
  const control::DeviceEntries routes = control::baseline_routes(topology).front();
  // What ran before goes first; then counters and stamps begin anew; then the jobs come.
  if (const auto removed = control::reconcile(device, routes); !removed.ok()) return removed.status();
  control::DeviceEntries wanted = routes;
  for (const control::JobPlan& plan : plans) {
    const control::StripePlan& stripe = plan.stripes.front();
    const auto neighbors = control::neighbors_of(topology, plan).front();
    if (absl::Status s = control::zero_segments(device, neighbors); !s.ok()) return s;
    const uint32_t base = stripe.aggregators.front().slot_base;
    if (absl::Status s = control::write_stamps(device, base, stripe.ring, stripe.first_number - 1); !s.ok())
      return s;
    wanted.append(control::compile_job(topology, plan).front());
  }
  return control::reconcile(device, wanted).status();
}

}  // namespace

absl::StatusOr<std::vector<JobTraffic>> program_switch(const std::vector<JobShape>& jobs,
                                                       const ProgramOptions& options) {
  control::target::BfrtOptions bfrt;
  bfrt.address = options.bfrt;
  bfrt.device_id = options.device_id;
  const auto device = control::target::connect_bfrt(bfrt);
  if (!device.ok())
    return absl::Status(device.status().code(),
                        absl::StrCat("switch at ", options.bfrt, ": ", device.status().message()));
  const auto capability = control::read_capability(**device);
  if (!capability.ok()) return capability.status();
  const auto topology = topology_of(jobs, options.device_ports);
  if (!topology.ok()) return topology.status();
  std::vector<control::DeviceResources> resources = {control::DeviceResources(*capability)};
  std::vector<control::JobPlan> plans;
  std::vector<JobTraffic> traffic;
  for (const JobShape& shape : jobs) {
    control::JobRequest request;
    request.name = absl::StrCat("gen", plans.size());
    request.first_job = static_cast<uint16_t>(1 + plans.size());
    for (unsigned worker = 0; worker < shape.workers; ++worker)
      request.members.push_back(static_cast<HostId>(worker % topology->hosts().size()));
    request.stripes = {{0, 1, {}}};
    request.sizing.lanes = shape.lanes;
    request.sizing.max_rate_bps = 100e9;
    request.sizing.max_window = window_of(*capability, jobs.size(), options.max_window);
    auto plan = control::plan_job(*topology, request, &resources);
    if (!plan.ok()) return plan.status();
    plan->stripes.front().epoch = options.epoch;
    JobTraffic job;
    job.share = shape.share;
    job.members.resize(shape.workers);
    for (unsigned rank = 0; rank < shape.workers; ++rank) {
      auto config = host::parse_job_config(control::member_config(*topology, *plan, static_cast<int>(rank)));
      if (!config.ok()) return config.status();
      host::StripeConfig stripe = config->stripes.front();
      stripe.rate_bps = 0;  // the generator's to say
      const HostId host = plan->members[rank];
      job.members[stripe.child] = {stripe, topology->hosts()[static_cast<size_t>(host)].mac,
                                   options.switch_mac, static_cast<unsigned>(host)};
    }
    plans.push_back(*std::move(plan));
    traffic.push_back(std::move(job));
  }
  if (absl::Status s = install(**device, *topology, plans); !s.ok())
    return absl::Status(s.code(), absl::StrCat("programming the switch: ", s.message()));
  return traffic;
}

absl::StatusOr<std::vector<JobTraffic>> traffic_of(const std::vector<std::string>& job_files, size_t ports,
                                                   const wire::MacAddress& switch_mac) {
  std::map<uint16_t, JobTraffic> jobs;  // by number on the wire
  for (const std::string& file : job_files) {
    const auto config = host::load_job_config(file);
    if (!config.ok()) return config.status();
    for (const host::StripeConfig& stripe : config->stripes) {
      JobTraffic& job = jobs[stripe.job];
      job.share = stripe.share;
      if (stripe.child != job.members.size())
        return absl::InvalidArgumentError(absl::StrCat(file, ": child ", stripe.child, " of job ", stripe.job,
                                                       " comes when child ", job.members.size(),
                                                       " is due: give the files of all ranks, by rank"));
      const size_t port = config->rank % ports;
      const wire::MacAddress own = {
          2, 0, 0, 0, static_cast<uint8_t>(config->rank >> 8), static_cast<uint8_t>(config->rank)};
      job.members.push_back({stripe, own, switch_mac, static_cast<unsigned>(port)});
      if (stripe.lanes != job.members.front().stripe.lanes ||
          stripe.ring != job.members.front().stripe.ring || stripe.epoch != job.members.front().stripe.epoch)
        return absl::InvalidArgumentError(
            absl::StrCat(file, ": lanes, ring or epoch of job ", stripe.job, " are not those of rank 0"));
    }
    if (config->world != job_files.size())
      return absl::InvalidArgumentError(absl::StrCat(file, ": the job has ", config->world, " ranks, ",
                                                     job_files.size(), " files were given"));
  }
  std::vector<JobTraffic> traffic;
  for (auto& [number, job] : jobs) traffic.push_back(std::move(job));
  return traffic;
}

}  // namespace l3dml::gen
