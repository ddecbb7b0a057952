// Ties a program's description (bf-rt.json) to the pipeline that runs it, by name, before packets flow: every
// table, register and counter must have its twin with the same keys and parameters, and the other way round;
// the first that has not is named. What is returned is the description as this device has it: sizes of
// registers and counters are the device's, and there is a register for every pair of its lanes. Control
// planes learn from it what a device holds.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "dataplane/pipeline/device.h"

namespace l3dml::app {

absl::StatusOr<std::string> bind_program(const std::string& json, pipeline::Device& device);

}  // namespace l3dml::app
