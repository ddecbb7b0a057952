// A job's plan as JSON and back, so that a restarted controller gives every job exactly what it had.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/jobs/plan.h"

namespace l3dml::control {

std::string to_json(const JobPlan& plan);
absl::StatusOr<JobPlan> plan_from_json(const std::string& text);

}  // namespace l3dml::control
