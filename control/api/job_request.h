// From what a job's owner asks for to what control/jobs plans: hosts and roots by name, the form chosen where
// the owner names none. The controller and `l3dml-lab explain` ask the same question, so they get one answer.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "control/api/views.h"
#include "control/jobs/form.h"
#include "control/jobs/plan.h"

namespace l3dml::control {

FormOptions form_options(const JobSpecification& specification);

// `forms` decides where the owner names no roots (null: the arithmetic); `form` (may be null) takes what was
// decided, by whom and why. Errors: a host or site that is not there, or no switch that reaches all of them.
absl::StatusOr<JobRequest> request_of(const Topology& topology, const std::vector<DeviceResources>& devices,
                                      const JobSpecification& specification,
                                      const FormChooser* forms = nullptr, ChosenForm* form = nullptr);

}  // namespace l3dml::control
