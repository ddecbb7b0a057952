#include "tools/lab/network.h"

#include "absl/strings/str_cat.h"
#include "tools/lab/namespaces.h"
#include "tools/lab/status.h"

namespace l3dml::lab {

using control::HostId;

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
  auto controller = ControllerProcess::start(scenario_, switch_->bfrt_address(), folder, record_.get());
  if (!controller.ok()) return controller.status();
  controller_.emplace(*std::move(controller));
  if (scenario_.backend != Backend::l3dml) return absl::OkStatus();
  auto created = controller_->create_job(scenario_);
  if (!created.ok()) return created.status();
  created_ = *std::move(created);
  return absl::OkStatus();
}

absl::Status Network::check() {
  L3DML_RETURN_IF_ERROR(switch_->check());
  return controller_->check();
}

std::map<std::string, std::string> Network::membership() const {
  if (created_.token().empty()) return {};
  return {{"L3DML_CONTROLLER", controller_->address()},
          {"L3DML_JOB", created_.job().name()},
          {"L3DML_TOKEN", created_.token()}};
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
  if (created_.token().empty()) return segments;
  const auto statistics = controller_->statistics();
  if (!statistics.ok()) return statistics.status();
  for (const auto& segment : statistics->segments())
    if (segment.job() == created_.job().name())
      segments.push_back({segment.site(), segment.peer(), segment.repaired_packets()});
  return segments;
}

}  // namespace l3dml::lab
