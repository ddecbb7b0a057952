#include "control/topology/topology.h"

#include "absl/strings/str_cat.h"

namespace l3dml::control {
namespace {

constexpr uint16_t kFrontPorts = 64;  // per pipe; 64 and above are the CPU's and recirculation
constexpr int kMaxSites = 255, kMaxHosts = 253;

template <typename T>
int find(const std::vector<T>& things, std::string_view name) {
  for (size_t i = 0; i < things.size(); ++i)
    if (things[i].name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

SiteId Topology::find_site(std::string_view name) const { return find(sites_, name); }
HostId Topology::find_host(std::string_view name) const { return find(hosts_, name); }
LinkId Topology::find_link(std::string_view name) const { return find(links_, name); }

absl::StatusOr<uint16_t> Topology::take_port(SiteId site, int wanted) {
  std::set<uint16_t>& taken = ports_[site];
  if (wanted >= 0) {
    if (wanted >= 512) return absl::InvalidArgumentError(absl::StrCat("no device port has number ", wanted));
    if (!taken.insert(static_cast<uint16_t>(wanted)).second)
      return absl::AlreadyExistsError(
          absl::StrCat("port ", wanted, " of site ", sites_[site].name, " is taken"));
    return static_cast<uint16_t>(wanted);
  }
  // 0 is left out: "port 0" in a trace is too easily a default.
  for (uint16_t port = 1; port < kFrontPorts; ++port)
    if (taken.insert(port).second) return port;
  return absl::ResourceExhaustedError(absl::StrCat("switch of site ", sites_[site].name,
                                                   " has no port left, its ", kFrontPorts - 1,
                                                   " are taken by links and workers"));
}

absl::StatusOr<SiteId> Topology::add_site(std::string name, bool aggregates) {
  if (find_site(name) >= 0) return absl::AlreadyExistsError(absl::StrCat("site ", name, " is there twice"));
  if (sites_.size() >= kMaxSites) return absl::ResourceExhaustedError("more than 255 sites in one region");
  Site site;
  site.name = std::move(name);
  site.locator = static_cast<uint16_t>(0x0100 | (sites_.size() + 1));
  site.device_id = static_cast<uint32_t>(sites_.size());
  site.aggregates = aggregates;
  site.mac = switch_mac(site.locator);
  sites_.push_back(std::move(site));
  steps_.emplace_back();
  ports_.emplace_back();
  host_counts_.push_back(0);
  return static_cast<SiteId>(sites_.size() - 1);
}

absl::StatusOr<HostId> Topology::add_host(std::string name, SiteId site, double rate_bps, double delay_s,
                                          int wanted_port) {
  if (find_host(name) >= 0) return absl::AlreadyExistsError(absl::StrCat("worker ", name, " is there twice"));
  if (host_counts_[site] >= kMaxHosts)
    return absl::ResourceExhaustedError(absl::StrCat("more than 253 workers at site ", sites_[site].name));
  auto port = take_port(site, wanted_port);
  if (!port.ok()) return port.status();
  Host host;
  host.name = std::move(name);
  host.site = site;
  host.number = ++host_counts_[site];
  host.port = *port;
  host.mac = host_mac(sites_[site].locator, static_cast<uint8_t>(host.number));
  host.rate_bps = rate_bps;
  host.delay_s = delay_s;
  hosts_.push_back(std::move(host));
  return static_cast<HostId>(hosts_.size() - 1);
}

absl::StatusOr<LinkId> Topology::add_link(std::string name, SiteId a, SiteId b, double rate_bps,
                                          double delay_s, double loss, int wanted_a, int wanted_b) {
  if (find_link(name) >= 0) return absl::AlreadyExistsError(absl::StrCat("link ", name, " is there twice"));
  if (a == b) return absl::InvalidArgumentError(absl::StrCat("link ", name, " leads from a site to itself"));
  auto port_a = take_port(a, wanted_a);
  if (!port_a.ok()) return port_a.status();
  auto port_b = take_port(b, wanted_b);
  if (!port_b.ok()) return port_b.status();
  const auto id = static_cast<LinkId>(links_.size());
  links_.push_back({std::move(name), a, b, *port_a, *port_b, rate_bps, delay_s, loss, true});
  steps_[a].push_back({id, b});
  steps_[b].push_back({id, a});
  return id;
}

Ipv6 Topology::address(HostId host) const {
  const Host& h = hosts_[host];
  return host_address(sites_[h.site].prefix, sites_[h.site].locator, h.number);
}

uint32_t Topology::address4(HostId host) const {
  return host_address4(sites_[hosts_[host].site].locator, hosts_[host].number);
}

}  // namespace l3dml::control
