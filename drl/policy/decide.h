// The pieces that Policy is made of, for evaluation and explanation: the raw policy, plans from drafts,
// prediction.
#pragma once

#include "drl/policy/model.h"
#include "drl/policy/policy.h"
#include "drl/policy/refine.h"

namespace l3dml::drl {

// The model's own plan: at each step the candidate of the highest score. `strangest` (may be null) takes the
// largest strangeness met.
Draft refine_with(const Space& space, const Model& model, float* strangest = nullptr);
Draft refine_by_rule(const Space& space, int steps);  // largest reduced cost: what the policy starts from

Plan plan_of(const Space& space, const Draft& draft);

// Iteration time of the plan with its trees and shares, rates as high as they fit. Infinite over a failed
// link; InvalidArgument if the plan is not one of this problem.
absl::StatusOr<double> predict_plan(const Problem& problem, const Plan& plan);

}  // namespace l3dml::drl
