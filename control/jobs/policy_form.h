// A job's stripes by the routing policy (drl/policy/policy.h), for whoever has one: roots and shares are the
// policy's, trees follow the controller's paths. The form of form.h stands beside it and wins where the
// arithmetic of sizing.h finds it faster, so nothing that is deployed is slower than the baseline by the
// controller's own reckoning. Stateless; the policy may be shared between threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/jobs/form.h"
#include "drl/policy/policy.h"

namespace l3dml::control {

// The network as the policy sees it; between two sites the fastest of several links counts. A site with
// members that sums is one child.
drl::Problem problem_of(const Topology& topology, const std::vector<HostId>& members,
                        const SizingOptions& sizing, double bytes);

// Errors are those of choose_form; what the policy cannot answer is answered by the arithmetic, and `why`
// says so. `guard`: so is what the arithmetic finds slower than its own form.
absl::StatusOr<ChosenForm> choose_form_by_policy(const Topology& topology, const std::vector<HostId>& members,
                                                 const SizingOptions& sizing, const FormOptions& options,
                                                 const drl::Policy& policy, bool guard = true);

// After a change of topology or rates: keeps `running` unless another form is shorter by more than the part
// `hysteresis`.
absl::StatusOr<ChosenForm> revise_form(const Topology& topology, const std::vector<HostId>& members,
                                       const SizingOptions& sizing, const FormOptions& options,
                                       const drl::Policy& policy, const std::vector<StripeRequest>& running,
                                       double hysteresis = 0.1);

// For the controller: "drl" is the models with their guard, "arithmetic" is form.h alone, anything else a
// rule of drl/policy ("shortest", "greedy", ...). Model files that are refused are named in `refused`, one
// line each; the compiled-in models decide then. InvalidArgument: no such policy.
absl::StatusOr<std::unique_ptr<FormChooser>> policy_chooser(const std::string& name,
                                                            const std::string& models,
                                                            std::vector<std::string>* refused);

}  // namespace l3dml::control
