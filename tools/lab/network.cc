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

absl::StatusOr<std::vector<SegmentRepairs>> Network::repairs() const {
  std::vector<SegmentRepairs> segments;
  if (!plan_) return segments;
  const control::Topology& topology = scenario_.topology;
  for (const control::StripePlan& stripe : plan_->stripes) {
    const auto& aggregators = stripe.tree.aggregators;
    for (size_t a = 0; a < aggregators.size(); ++a) {
      const auto site_name = [&](int aggregator) {
        return topology.sites()[static_cast<size_t>(aggregators[static_cast<size_t>(aggregator)].site)].name;
      };
      const auto add = [&](const std::string& to, uint16_t neighbor) {
        const auto counter = devices_[static_cast<size_t>(aggregators[a].site)]->read_counter(
            "pipe.Egress.segment_sender.repairs", neighbor);
        if (counter.ok()) segments.push_back({site_name(static_cast<int>(a)), to, counter->packets});
        return counter.status();
      };
      for (size_t c = 0; c < aggregators[a].children.size(); ++c) {
        const control::Child& child = aggregators[a].children[c];
        L3DML_RETURN_IF_ERROR(add(child.kind == control::NodeKind::worker
                                      ? topology.hosts()[static_cast<size_t>(child.index)].name
                                      : site_name(child.index),
                                  stripe.aggregators[a].neighbors[c]));
      }
      if (aggregators[a].parent >= 0)
        L3DML_RETURN_IF_ERROR(add(site_name(aggregators[a].parent), stripe.aggregators[a].parent_neighbor));
    }
  }
  return segments;
}

}  // namespace l3dml::lab
