// Draws problems for training and evaluation: a topology, a world lived in for a while, other jobs already
// placed, a job with its children. A scenario is a function of (topology, options, seed).
#pragma once

#include "drl/env/world.h"

namespace l3dml::drl {

enum class ScenarioKind {
  kPlain,      // background, bursts, other jobs
  kStraggler,  // and one degraded link next to the job, heavier bursts, one slow site
};

struct ScenarioOptions {
  ScenarioKind kind = ScenarioKind::kPlain;
  int min_children = 3;
  int max_children = 12;
  double min_bytes = 1e6;
  double max_bytes = 4e9;
  int max_stripes = 8;
  double small_switches = 0.1;  // chance that switches hold few slots
};

absl::StatusOr<Problem> draw_problem(const Topology& topology, const ScenarioOptions& options, uint64_t seed);

// One child per chosen site (summed where it aggregates), with computing times around a common mean.
std::vector<Child> draw_children(const Topology& topology, int count, bool slow_site, Random& random);

}  // namespace l3dml::drl
