// The program of p4/ as the switch carries it, built in, and whether a device's sizes fit the chip it stands
// for.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dataplane/app/config.h"
#include "dataplane/tna/budget.h"

namespace l3dml::app {

extern const std::string_view kProgramJson;    // p4/bf-rt.json
extern const std::string_view kResourcesJson;  // p4/resources.json

// What one pipe of this device holds, in the program's own names.
tna::PipeSizes sizes_of(const pipeline::DeviceConfig& device);
// INVALID_ARGUMENT that names what is short if the device says that it stands for a chip and would not fit
// it.
absl::Status check_budget(const DeviceConfig& device);

// Of each device of the configuration, or with `own_sizes` of the program as it is written. Text, or rows of
// a report, to standard output; the exit code: 0 everything fits, 1 it does not.
int print_budget(const SwitchConfig& config, const tna::Chip& chip, bool own_sizes, bool as_json,
                 const std::string& command);

}  // namespace l3dml::app
