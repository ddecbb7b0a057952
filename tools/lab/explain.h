// What a scenario's job would get on this network, and why: for people.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {

absl::StatusOr<std::string> explain(const Scenario& scenario);

}  // namespace l3dml::lab
