// Sites, the switch of each, hosts on edge ports, and links between sites: what the controller knows of the
// network. A plain value; indices into the three vectors name things everywhere in control/.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/topology/address.h"

namespace l3dml::control {

using SiteId = int;
using HostId = int;
using LinkId = int;

struct Site {
  std::string name;
  uint64_t prefix = kUlaPrefix;
  uint16_t locator = 0;
  uint32_t device_id = 0;  // BfRuntime device of its switch
  bool aggregates = true;  // false: an ordinary router as far as jobs are concerned
  Mac mac{};
};

struct Host {
  std::string name;
  SiteId site = 0;
  uint32_t number = 0;  // low 32 bits of its address; unique in the site, never 0
  uint16_t port = 0;    // device port of the site's switch
  Mac mac{};
  double rate_bps = 0;  // 0: not limited
  double delay_s = 0;   // one way
  bool present = true;  // false: removed; its address and port stay taken
};

struct Link {
  std::string name;
  SiteId a = 0, b = 0;
  uint16_t port_a = 0, port_b = 0;  // device port at either end
  double rate_bps = 0;              // each direction; 0: not limited
  double delay_s = 0;               // one way
  double loss = 0;                  // mean share of packets lost, each direction
  bool up = true;
};

// One step from a site: the link taken and the site it leads to.
struct Step {
  LinkId link = -1;
  SiteId site = -1;
};

class Topology {
 public:
  // Each adds the next free locator / device port / host number, so that a description needs names only.
  // Errors: duplicate name, unknown site, more than 255 sites or 253 hosts at a site, ports exhausted.
  absl::StatusOr<SiteId> add_site(std::string name, bool aggregates = true);
  absl::StatusOr<HostId> add_host(std::string name, SiteId site, double rate_bps, double delay_s,
                                  int port = -1);
  absl::StatusOr<LinkId> add_link(std::string name, SiteId a, SiteId b, double rate_bps, double delay_s,
                                  double loss, int port_a = -1, int port_b = -1);

  const std::vector<Site>& sites() const { return sites_; }
  const std::vector<Host>& hosts() const { return hosts_; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<Step>& steps(SiteId site) const { return steps_[site]; }

  void set_link_up(LinkId link, bool up) { links_[link].up = up; }
  void set_link_figures(LinkId link, double rate_bps, double delay_s, double loss) {
    links_[link].rate_bps = rate_bps;
    links_[link].delay_s = delay_s;
    links_[link].loss = loss;
  }
  void set_aggregates(SiteId site, bool aggregates) { sites_[site].aggregates = aggregates; }
  void set_present(HostId host, bool present) { hosts_[host].present = present; }

  SiteId find_site(std::string_view name) const;  // -1: none
  HostId find_host(std::string_view name) const;
  LinkId find_link(std::string_view name) const;

  uint16_t port_towards(SiteId from, LinkId link) const {
    return links_[link].a == from ? links_[link].port_a : links_[link].port_b;
  }
  Ipv6 address(HostId host) const;
  uint32_t address4(HostId host) const;

 private:
  absl::StatusOr<uint16_t> take_port(SiteId site, int wanted);  // -1: the next free one

  std::vector<Site> sites_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
  std::vector<std::vector<Step>> steps_;   // by site
  std::vector<std::set<uint16_t>> ports_;  // by site
  std::vector<uint32_t> host_counts_;      // by site
};

}  // namespace l3dml::control
