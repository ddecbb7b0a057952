#include "tools/lab/switch_process.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tools/lab/build_info.h"
#include "tools/lab/namespaces.h"

namespace l3dml::lab {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string scalars(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields)
    absl::StrAppend(&out, out.empty() ? "" : ", ", name, ": ", quoted(value));
  return out;
}

// The parameters as the inside of a flow map.
std::string parameters(const LinkSpec& link) {
  std::vector<std::string> parts;
  if (!link.scalars.empty()) parts.push_back(scalars(link.scalars));
  if (!link.loss.empty()) parts.push_back(absl::StrCat("loss: {", scalars(link.loss), "}"));
  if (!link.trace.empty()) {
    std::string changes;
    for (const LinkSpec::Change& change : link.trace)
      absl::StrAppend(&changes, changes.empty() ? "" : ", ", "{at: ", quoted(change.at), ", ",
                      scalars(change.scalars), "}");
    parts.push_back(absl::StrCat("trace: [", changes, "]"));
    if (!link.repeat.empty()) parts.push_back(absl::StrCat("repeat: ", quoted(link.repeat)));
  }
  std::string out;
  for (const std::string& part : parts) absl::StrAppend(&out, out.empty() ? "" : ", ", part);
  return out;
}

}  // namespace

std::string switch_config(const Scenario& scenario, const std::string& control_socket) {
  const control::Topology& topology = scenario.topology;
  std::string out = absl::StrCat(
      "# Written by l3dml-lab from ", scenario.file, ".\nlog_level: warning\nseed: ", scenario.seed,
      "\nbfrt: \"127.0.0.1:0\"\nstatus: \"\"\ncontrol: ", quoted("unix:" + control_socket), "\ndevices:\n");
  const auto ports_of = [&](control::SiteId site) {
    std::string ports;
    for (size_t h = 0; h < topology.hosts().size(); ++h) {
      const control::Host& host = topology.hosts()[h];
      if (host.site != site) continue;
      absl::StrAppend(&ports, "      - {port: ", host.port, ", name: ", quoted(host.name),
                      ", tap: ", kInterface,
                      ", netns: ", quoted(namespace_of(scenario, static_cast<control::HostId>(h))),
                      ", mac: ", quoted(control::text(host.mac)), ", mtu: ", scenario.mtu);
      if (!scenario.access[h].empty())
        absl::StrAppend(&ports, ", link: {", parameters(scenario.access[h]), "}");
      absl::StrAppend(&ports, "}\n");
    }
    return ports;
  };
  for (size_t s = 0; s < topology.sites().size(); ++s) {
    const control::Site& site = topology.sites()[s];
    absl::StrAppend(&out, "  - name: ", quoted(site.name), "\n    id: ", site.device_id,
                    "\n    mac: ", quoted(control::text(site.mac)), "\n    lanes: ", scenario.job.lanes,
                    "\n");
    if (const std::string ports = ports_of(static_cast<control::SiteId>(s)); !ports.empty())
      absl::StrAppend(&out, "    ports:\n", ports);
  }
  if (!topology.links().empty()) absl::StrAppend(&out, "links:\n");
  for (size_t l = 0; l < topology.links().size(); ++l) {
    const control::Link& link = topology.links()[l];
    const std::string more = parameters(scenario.links[l]);
    absl::StrAppend(&out, "  - {name: ", quoted(link.name), ", ends: [\"", topology.sites()[link.a].name, ":",
                    link.port_a, "\", \"", topology.sites()[link.b].name, ":", link.port_b, "\"]",
                    more.empty() ? "" : ", ", more, "}\n");
  }
  return out;
}

absl::StatusOr<SwitchProcess> SwitchProcess::start(const Scenario& scenario, const std::string& folder,
                                                   Record* record) {
  const std::string config = absl::StrCat(folder, "/switch.yaml"), log = absl::StrCat(folder, "/switch.log");
  const std::string socket = absl::StrCat(folder, "/switch.sock");
  std::ofstream out(config);
  out << switch_config(scenario, socket);
  out.close();
  if (!out) return absl::PermissionDeniedError(absl::StrCat("cannot write ", config));
  auto daemon = Daemon::start(
      "the switch", {absl::StrCat(kBuildRoot, "/dataplane/l3dml-switch"), config, "--json"}, log, record);
  if (!daemon.ok()) return daemon.status();
  return SwitchProcess(*std::move(daemon), socket);
}

std::string SwitchProcess::bfrt_address() const {
  return absl::StrCat("127.0.0.1:", daemon_.said().value("bfrt_port", 0));
}

absl::StatusOr<nlohmann::json> SwitchProcess::ask(const nlohmann::json& request) const {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  const std::string line = request.dump() + "\n";
  std::string answer;
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size())) {
    char part[65536];
    pollfd readable{fd, POLLIN, 0};
    while (answer.find('\n') == std::string::npos && ::poll(&readable, 1, 5000) > 0) {
      const ssize_t n = read(fd, part, sizeof part);
      if (n <= 0) break;
      answer.append(part, static_cast<size_t>(n));
    }
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  auto value = nlohmann::json::parse(answer, nullptr, false);
  if (!value.is_object())
    return absl::UnavailableError(
        absl::StrCat("the switch does not answer on ", socket_, ": ", std::strerror(error)));
  if (!value.value("ok", true))
    return absl::InternalError(absl::StrCat("the switch refuses: ", value.value("error", "no reason given")));
  return value;
}

}  // namespace l3dml::lab
