// One decision laid open: the chosen plan beside the baselines', per stripe and child what it does and when
// it arrives.
#pragma once

#include <string>

#include "drl/env/space.h"
#include "drl/policy/model.h"

namespace l3dml::drl {

// Plain text, and the same as an HTML page with a map of the largest stripes.
struct Explanation {
  std::string text, html;
};
absl::StatusOr<Explanation> explain(const Problem& problem, const Model* model);

}  // namespace l3dml::drl
