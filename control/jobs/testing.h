// The networks that tests of jobs speak of.
#pragma once

#include "control/topology/topology.h"

namespace l3dml::control::testing {

// Two sites, two workers each, 100 Mb/s and 25 ms between them: the demo.
struct TwoSites {
  Topology t;
  SiteId west = *t.add_site("west"), east = *t.add_site("east");
  LinkId wan = *t.add_link("wan", west, east, 100e6, 0.025, 0.001);
  HostId w0 = *t.add_host("w0", west, 0, 0), w1 = *t.add_host("w1", west, 0, 0);
  HostId e0 = *t.add_host("e0", east, 0, 0), e1 = *t.add_host("e1", east, 0, 0);
  std::vector<HostId> members{w0, w1, e0, e1};
};

// Four sites of one worker around a hub without workers.
struct Star {
  Topology t;
  SiteId hub;
  std::vector<SiteId> sites;
  std::vector<HostId> members;
  explicit Star(bool hub_aggregates, double rate_bps = 100e6) {
    hub = *t.add_site("hub", hub_aggregates);
    for (int i = 0; i < 4; ++i) {
      const std::string name = "s" + std::to_string(i);
      sites.push_back(*t.add_site(name));
      (void)t.add_link("l" + std::to_string(i), sites.back(), hub, rate_bps, 0.010, 0);
      members.push_back(*t.add_host("w" + std::to_string(i), sites.back(), 0, 0));
    }
  }
};

}  // namespace l3dml::control::testing
