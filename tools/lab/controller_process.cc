#include "tools/lab/controller_process.h"

#include <fstream>

#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/lab/build_info.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

namespace api = control::api;

constexpr int kSwitchesMs = 30'000, kAttempts = 20;

std::string socket_in(const std::string& folder) { return folder + "/controller.sock"; }

}  // namespace

std::string controller_config(const Scenario& scenario, const std::string& bfrt_address,
                              const std::string& folder) {
  const control::Topology& topology = scenario.topology;
  std::string out =
      absl::StrCat("# Written by l3dml-lab from ", scenario.file, ".\nlisten: [\"unix:", socket_in(folder),
                   "\"]\nstore: \"sqlite:", folder, "/controller.db\"\ntelemetry: 5s\nsites:\n");
  for (const control::Site& site : topology.sites())
    absl::StrAppend(&out, "  - {name: \"", site.name, "\", switch: \"", bfrt_address,
                    "\", device: ", site.device_id, site.aggregates ? "" : ", router: true", "}\n");
  absl::StrAppend(&out, "hosts:\n");
  for (const control::Host& host : topology.hosts())
    absl::StrAppendFormat(&out, "  - {name: \"%s\", site: \"%s\", port: %d, rate: %.0fbit, delay: %.3fus}\n",
                          host.name, topology.sites()[host.site].name, host.port, host.rate_bps,
                          1e6 * host.delay_s);
  absl::StrAppend(&out, topology.links().empty() ? "" : "links:\n");
  for (const control::Link& link : topology.links())
    absl::StrAppendFormat(&out,
                          "  - {name: \"%s\", between: [\"%s\", \"%s\"], ports: [%d, %d], rate: %.0fbit, "
                          "delay: %.3fus, loss: %.9f}\n",
                          link.name, topology.sites()[link.a].name, topology.sites()[link.b].name,
                          link.port_a, link.port_b, link.rate_bps, 1e6 * link.delay_s, link.loss);
  return out;
}

api::CreateJobRequest job_request(const Scenario& scenario) {
  const control::Topology& topology = scenario.topology;
  api::CreateJobRequest request;
  request.set_name(scenario.name);
  for (const control::Host& host : topology.hosts()) request.add_hosts(host.name);
  for (const auto& [site, share] : scenario.job.roots) {
    api::Root* root = request.add_roots();
    root->set_site(topology.sites()[site].name);
    root->set_share(share);
  }
  request.set_stripes(static_cast<uint32_t>(scenario.job.stripes));
  request.set_lanes(scenario.job.lanes);
  request.set_timeout_s(scenario.job.timeout_s);
  request.set_lease_s(scenario.job.lease_s);
  request.set_on_loss(scenario.job.go_on ? api::CONTINUE : api::END);
  request.set_mtu(scenario.mtu);
  request.set_only_root_sums(!scenario.job.inner);
  return request;
}

absl::StatusOr<ControllerProcess> ControllerProcess::start(const Scenario& scenario,
                                                           const std::string& bfrt_address,
                                                           const std::string& folder, Record* record) {
  if (socket_in(folder).size() >= sizeof(sockaddr_un::sun_path))
    return absl::InvalidArgumentError(absl::StrCat(
        "the folder ", folder, " has too long a name for a socket in it: give another by --out"));
  const std::string config = folder + "/controller.yaml";
  std::ofstream out(config);
  out << controller_config(scenario, bfrt_address, folder);
  out.close();
  if (!out) return absl::PermissionDeniedError(absl::StrCat("cannot write ", config));
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((folder + "/controller.db" + suffix).c_str());
  auto daemon = Daemon::start("the controller",
                              {absl::StrCat(kBuildRoot, "/control/l3dml-controller"), config, "--json"},
                              folder + "/controller.log", record);
  if (!daemon.ok()) return daemon.status();
  const std::string address = "unix:" + socket_in(folder);
  control::ClientOptions options;
  options.address = address;
  auto client = control::Client::create(options);
  if (!client.ok()) return client.status();
  ControllerProcess controller(*std::move(daemon), address, *std::move(client));
  L3DML_RETURN_IF_ERROR(controller.wait_for_switches());
  return controller;
}

absl::Status ControllerProcess::wait_for_switches() const {
  std::string problem;
  for (int waited = 0; waited < kSwitchesMs; waited += 50) {
    const auto devices =
        client_->call(*client_->network, &api::Network::Stub::ListDevices, api::ListDevicesRequest());
    if (!devices.ok()) return devices.status();
    problem.clear();
    for (const api::Device& device : devices->devices())
      if (!device.connected() || !device.problem().empty())
        problem = absl::StrCat("the switch of site ", device.site().name(), ": ",
                               device.problem().empty() ? "not reached" : device.problem());
    if (problem.empty()) return absl::OkStatus();
    ::poll(nullptr, 0, 50);
  }
  return absl::UnavailableError(problem);
}

absl::StatusOr<api::CreateJobResponse> ControllerProcess::create_job(const Scenario& scenario) const {
  return client_->call(*client_->jobs, &api::Jobs::Stub::Create, job_request(scenario));
}

absl::StatusOr<api::Statistics> ControllerProcess::statistics() const {
  // A connection that nobody used for the length of a workload may be found dead; the next try makes a new
  // one.
  for (int attempt = 1;; ++attempt) {
    auto statistics =
        client_->call(*client_->network, &api::Network::Stub::GetStatistics, api::GetStatisticsRequest());
    if (statistics.ok() || attempt == kAttempts || !absl::IsUnavailable(statistics.status()))
      return statistics;
    ::poll(nullptr, 0, 100);
  }
}

}  // namespace l3dml::lab
