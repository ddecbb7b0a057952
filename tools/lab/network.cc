#include "tools/lab/network.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "control/install/install.h"
#include "control/jobs/compiler.h"
#include "control/jobs/form.h"
#include "control/routing/routes.h"
#include "control/target/bfrt_target.h"
#include "tools/lab/job_files.h"
#include "tools/lab/namespaces.h"
#include "tools/lab/status.h"

namespace l3dml::lab {

using control::HostId;

absl::StatusOr<control::JobPlan> plan_of(const Scenario& scenario,
                                         std::vector<control::DeviceResources>* devices) {
  control::JobRequest request;
  request.name = scenario.name;
  request.sizing.lanes = scenario.job.lanes;
  for (size_t h = 0; h < scenario.topology.hosts().size(); ++h)
    request.members.push_back(static_cast<HostId>(h));
  for (const auto& [site, share] : scenario.job.roots)
    request.stripes.push_back({site, share, {scenario.job.inner, 2}});
  if (request.stripes.empty()) {
    auto form = control::choose_form(
        scenario.topology, request.members, request.sizing,
        {.stripes = static_cast<int>(scenario.job.stripes), .inner = scenario.job.inner, .bytes = 4e6});
    if (!form.ok()) return form.status();
    request.stripes = *std::move(form);
  }
  return control::plan_job(scenario.topology, request, devices);
}

absl::StatusOr<std::unique_ptr<Network>> Network::up(const Scenario& scenario, const std::string& folder) {
  std::unique_ptr<Network> network(new Network(scenario));
  if (absl::Status s = network->build(folder); !s.ok()) return s;
  return network;
}

absl::Status Network::build(const std::string& folder) {
  auto record = Record::open(scenario_.name);
  if (!record.ok()) return record.status();
  record_ = std::make_unique<Record>(*std::move(record));
  L3DML_RETURN_IF_ERROR(create_namespaces(scenario_, record_.get()));
  auto started = SwitchProcess::start(scenario_, folder, record_.get());
  if (!started.ok()) return started.status();
  switch_.emplace(*std::move(started));
  L3DML_RETURN_IF_ERROR(configure_namespaces(scenario_));
  L3DML_RETURN_IF_ERROR(connect());
  L3DML_RETURN_IF_ERROR(program());
  if (!plan_) return absl::OkStatus();
  const std::string jobs = folder + "/job";
  std::error_code error;
  std::filesystem::create_directories(jobs, error);
  return write_job_files(scenario_.topology, *plan_,
                         {.timeout_s = scenario_.job.timeout_s, .mtu = scenario_.mtu}, jobs);
}

absl::Status Network::connect() {
  for (const control::Site& site : scenario_.topology.sites()) {
    control::target::BfrtOptions options;
    options.address = switch_->bfrt_address();
    options.device_id = site.device_id;
    auto device = control::target::connect_bfrt(options);
    if (!device.ok())
      return absl::Status(device.status().code(),
                          absl::StrCat("switch of site ", site.name, ": ", device.status().message()));
    devices_.push_back(*std::move(device));
  }
  return absl::OkStatus();
}

absl::Status Network::program() {
  std::vector<control::DeviceEntries> wanted = control::baseline_routes(scenario_.topology);
  if (scenario_.backend == Backend::l3dml) {
    std::vector<control::DeviceResources> resources;
    for (const auto& device : devices_) {
      auto capability = control::read_capability(*device);
      if (!capability.ok()) return capability.status();
      capability->lanes = scenario_.job.lanes;  // as the switch was told to keep
      resources.emplace_back(*capability);
    }
    auto plan = plan_of(scenario_, &resources);
    if (!plan.ok()) return plan.status();
    plan_ = *std::move(plan);
    const auto job = control::compile_job(scenario_.topology, *plan_);
    const auto segments = control::neighbors_of(scenario_.topology, *plan_);
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i].append(job[i]);
      L3DML_RETURN_IF_ERROR(control::zero_segments(*devices_[i], segments[i]));
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    if (const auto writes = control::reconcile(*devices_[i], wanted[i]); !writes.ok())
      return absl::Status(writes.status().code(),
                          absl::StrCat("switch of site ", scenario_.topology.sites()[i].name, ": ",
                                       writes.status().message()));
  return absl::OkStatus();
}

absl::Status Network::check_reachable() const {
  const control::Topology& topology = scenario_.topology;
  const std::string from = namespace_of(scenario_, 0);
  for (size_t h = 1; h < topology.hosts().size(); ++h)
    for (const std::string& to : {control::text(topology.address(static_cast<HostId>(h))),
                                  control::text4(topology.address4(static_cast<HostId>(h)))}) {
      // The lab's own links lose packets, so several tries.
      bool answered = false;
      for (int i = 0; i < 4 && !answered; ++i)
        answered = run({"ip", "netns", "exec", from, "ping", "-n", "-q", "-c", "1", "-W", "2", to}).ok();
      if (!answered)
        return absl::UnavailableError(absl::StrCat("worker ", topology.hosts()[h].name, " at ", to,
                                                   " does not answer worker ", topology.hosts()[0].name,
                                                   ": is there a path between their sites?"));
    }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Network::repairs() const {
  if (!plan_) return 0;
  uint64_t total = 0;
  const auto segments = control::neighbors_of(scenario_.topology, *plan_);
  for (size_t i = 0; i < segments.size(); ++i)
    for (const uint16_t neighbor : segments[i]) {
      const auto counter = devices_[i]->read_counter("pipe.Egress.segment_sender.repairs", neighbor);
      if (!counter.ok()) return counter.status();
      total += counter->packets;
    }
  return total;
}

}  // namespace l3dml::lab
