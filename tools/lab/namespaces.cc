#include "tools/lab/namespaces.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/lab/process.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

using control::HostId;
using control::text;
using control::text4;

// A setting of the namespace that the program runs in.
absl::Status set(const std::string& netns, const std::string& key, const std::string& value) {
  return run({"ip", "netns", "exec", netns, "sysctl", "-qw", absl::StrCat(key, "=", value)}).status();
}

// A namespace may only use congestion control that the machine allows to everybody; so allow it.
absl::Status allow(const std::string& congestion_control) {
  constexpr const char* kAllowed = "net.ipv4.tcp_allowed_congestion_control";
  const auto allowed = run({"sysctl", "-n", kAllowed});
  if (!allowed.ok()) return allowed.status();
  std::string words;
  for (const auto word : absl::StrSplit(*allowed, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    if (word == congestion_control) return absl::OkStatus();
    absl::StrAppend(&words, word, " ");
  }
  return run({"sysctl", "-qw", absl::StrCat(kAllowed, "=", words, congestion_control)}).status();
}

absl::Status configure(const Scenario& scenario, HostId id) {
  const control::Topology& topology = scenario.topology;
  const control::Host& host = topology.hosts()[id];
  const control::Site& site = topology.sites()[host.site];
  const std::string netns = namespace_of(scenario, id), mac = text(site.mac);
  const std::string gateway6 = text(control::gateway_address6()),
                    gateway4 = text4(control::gateway_address4(site.locator));
  // No duplicate address detection and no router solicitation: the switch knows every host, they know the
  // switch.
  L3DML_RETURN_IF_ERROR(set(netns, absl::StrCat("net.ipv6.conf.", kInterface, ".accept_dad"), "0"));
  L3DML_RETURN_IF_ERROR(set(netns, absl::StrCat("net.ipv6.conf.", kInterface, ".accept_ra"), "0"));
  L3DML_RETURN_IF_ERROR(set(netns, "net.ipv4.tcp_congestion_control", scenario.tcp));
  const std::string commands = absl::StrCat(                                                 //
      "link set lo up\n",                                                                    //
      "link set ", kInterface, " address ", text(host.mac), " mtu ", scenario.mtu, " up\n",  //
      "addr add ", text(topology.address(id)), "/128 dev ", kInterface, " nodad\n",          //
      "neigh replace ", gateway6, " lladdr ", mac, " nud permanent dev ", kInterface, "\n",  //
      "route add ::/0 via ", gateway6, " dev ", kInterface, " onlink\n",                     //
      "addr add ", text4(topology.address4(id)), "/32 dev ", kInterface, "\n",               //
      "neigh replace ", gateway4, " lladdr ", mac, " nud permanent dev ", kInterface, "\n",  //
      "route add default via ", gateway4, " dev ", kInterface, " onlink\n");
  return run({"ip", "-n", netns, "-batch", "-"}, commands).status();
}

}  // namespace

std::string namespace_of(const Scenario& scenario, HostId host) {
  return absl::StrCat("l3dml-", scenario.name, "-", scenario.topology.hosts()[host].name);
}

absl::Status create_namespaces(const Scenario& scenario, Record* record) {
  for (size_t h = 0; h < scenario.topology.hosts().size(); ++h) {
    const std::string netns = namespace_of(scenario, static_cast<HostId>(h));
    L3DML_RETURN_IF_ERROR(record->add_namespace(netns));
    L3DML_RETURN_IF_ERROR(run({"ip", "netns", "add", netns}).status());
  }
  return absl::OkStatus();
}

absl::Status configure_namespaces(const Scenario& scenario) {
  L3DML_RETURN_IF_ERROR(allow(scenario.tcp));
  for (size_t h = 0; h < scenario.topology.hosts().size(); ++h)
    L3DML_RETURN_IF_ERROR(configure(scenario, static_cast<HostId>(h)));
  return absl::OkStatus();
}

}  // namespace l3dml::lab
