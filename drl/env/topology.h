// Networks as text. One item a line, '#' starts a comment:
//   topology NAME
//   site NAME LATITUDE LONGITUDE [router]          degrees; a router forwards but cannot aggregate
//   link SITE SITE RATE [DELAY]                     both directions; RATE like 10G or 400M; DELAY like 12.5ms
// Without DELAY a link gets the great-circle distance, times 1.3 for the fibre's detours, at 200 km per
// millisecond. Bundled: abilene, b4, geant, star, ring (files in drl/topologies, compiled in), and a seeded
// generator of random WANs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/env/problem.h"
#include "drl/env/random.h"

namespace l3dml::drl {

struct Topology {
  std::string name;
  std::vector<Site> sites;
  std::vector<Link> links;  // available_bps = capacity_bps
};

absl::StatusOr<Topology> parse_topology(std::string_view text);  // errors name the line
absl::StatusOr<Topology> bundled_topology(std::string_view name);
std::vector<std::string> bundled_topologies();
absl::StatusOr<Topology> read_topology(const std::string& name_or_file);

// Waxman graph over a continent-sized map on top of a nearest-neighbour tree: connected, mean degree about 3,
// rates of 10, 20 or 40 Gb/s. Some sites are plain routers where `routers` says so.
Topology random_topology(int sites, Random& random, double routers = 0.1);

double fibre_delay_s(const Site& a, const Site& b);

}  // namespace l3dml::drl
