// Baseline routes: every switch forwards by site along the shortest path, delivers to its own hosts, answers
// for its own gateway addresses, and takes everything sent to its site's aggregation function to itself. Host
// routes for chosen paths come on top as further host6 entries.
#pragma once

#include <vector>

#include "control/jobs/entry.h"
#include "control/topology/paths.h"

namespace l3dml::control {

std::vector<DeviceEntries> baseline_routes(const Topology& topology,
                                           const LinkLength& length = by_delay);  // by site

}  // namespace l3dml::control
