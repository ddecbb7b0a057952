// One network namespace per worker: made before the switch opens its tap inside it, given its addresses
// after.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/lab/leftovers.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {

constexpr const char* kInterface = "eth0";  // of every worker, in its namespace

std::string namespace_of(const Scenario& scenario, control::HostId host);  // "l3dml-<lab>-<worker>"

absl::Status create_namespaces(const Scenario& scenario, Record* record);

// Addresses as /128 and /32, default routes to the switch with its link-layer address written down (nobody
// asks for it), TCP's congestion control. The taps must be there.
absl::Status configure_namespaces(const Scenario& scenario);

}  // namespace l3dml::lab
