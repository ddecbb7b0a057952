// How fast the environment steps and the policy decides: one thread, its CPU time, so that a busy machine
// shows little. Problems are those of 12 sites; every run draws the same ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drl/policy/model.h"
#include "drl/policy/refine.h"

namespace l3dml::drl {

// Problems on 12 sites (Abilene, B4, random in turn): at most `children`, or exactly so many where a third of
// the sites are routers with workers of their own.
std::vector<std::shared_ptr<const Space>> twelve_sites(int count, int children, bool exact, uint64_t seed);

struct EnvironmentSpeed {
  long decisions = 0;
  double per_second = 0;     // choices, with observations before them and the starts of episodes
  uint64_t fingerprint = 0;  // of every observation and time on the way: the same bits or not
};
// Episodes by the rule of column generation over all problems, at least `seconds` of CPU time.
EnvironmentSpeed environment_speed(const std::vector<std::shared_ptr<const Space>>& problems, int steps,
                                   double seconds);

struct DecisionSpeed {
  double p50_s = 0, p99_s = 0;
};
DecisionSpeed decision_speed(const std::vector<std::shared_ptr<const Space>>& problems, const Model& model,
                             int repeats);

}  // namespace l3dml::drl
