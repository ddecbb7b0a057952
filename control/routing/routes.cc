#include "control/routing/routes.h"

namespace l3dml::control {
namespace {

Entry entry(const char* table, Match match, EntryData data) {
  match.field = std::string_view(table).back() == '6' ? "hdr.ipv6.dst_addr" : "hdr.ipv4.dst_addr";
  return {{table, {std::move(match)}}, std::move(data)};
}

Match exact(Bytes dst) { return {"dst", MatchKind::exact, std::move(dst), {}, 0}; }
Match prefix(Bytes dst, int length) { return {"dst", MatchKind::lpm, std::move(dst), {}, length}; }

EntryData forward(uint16_t port, const Mac& dmac) {
  return {"Ingress.forwarder.forward", {{"port", be(port, 9)}, {"dmac", bytes_of(dmac)}}};
}
const EntryData kLocal{"Ingress.forwarder.local", {}};  // to the switch's own processor

DeviceEntries own(const Topology& topology, SiteId id) {
  const Site& site = topology.sites()[id];
  DeviceEntries out;
  out.entries.push_back(entry("pipe.Ingress.forwarder.local6", exact(bytes_of(gateway_address6())), kLocal));
  out.entries.push_back(
      entry("pipe.Ingress.forwarder.local4", exact(be(gateway_address4(site.locator), 32)), kLocal));
  // Addresses of jobs that live here are exact entries; what is left of the /72 has no job.
  if (site.aggregates)
    out.entries.push_back(
        entry("pipe.Ingress.forwarder.prefix6",
              prefix(bytes_of(function_prefix(site.prefix, site.locator, Function::aggregate)), 72), kLocal));
  for (size_t h = 0; h < topology.hosts().size(); ++h) {
    const Host& host = topology.hosts()[h];
    if (host.site != id || !host.present) continue;
    const auto host_id = static_cast<HostId>(h);
    const EntryData to_host = forward(host.port, host.mac);
    out.entries.push_back(
        entry("pipe.Ingress.forwarder.host6", exact(bytes_of(topology.address(host_id))), to_host));
    out.entries.push_back(
        entry("pipe.Ingress.forwarder.host4", exact(be(topology.address4(host_id), 32)), to_host));
  }
  return out;
}

}  // namespace

std::vector<DeviceEntries> baseline_routes(const Topology& topology, const LinkLength& length) {
  const auto n = static_cast<SiteId>(topology.sites().size());
  std::vector<DeviceEntries> devices;
  for (SiteId id = 0; id < n; ++id) devices.push_back(own(topology, id));
  for (SiteId to = 0; to < n; ++to) {
    const Site& target = topology.sites()[to];
    const PathTree paths = paths_to(topology, to, length);
    for (SiteId from = 0; from < n; ++from) {
      if (from == to || !paths.reaches(from)) continue;
      const Step step = paths.next[from];
      const EntryData data = forward(topology.port_towards(from, step.link), topology.sites()[step.site].mac);
      devices[from].entries.push_back(entry("pipe.Ingress.forwarder.prefix6",
                                            prefix(bytes_of(site_prefix(target.prefix, target.locator)), 64),
                                            data));
      devices[from].entries.push_back(entry("pipe.Ingress.forwarder.prefix4",
                                            prefix(be(host_address4(target.locator, 0), 32), 24), data));
    }
  }
  return devices;
}

}  // namespace l3dml::control
