// Experience: environments run in parallel (TBB), each by the hand-written network, and generalised advantage
// estimation. The result depends on seeds alone, not on threads.
#pragma once

#include <memory>
#include <vector>

#include "drl/agent/environment.h"
#include "drl/policy/network.h"

namespace l3dml::drl {

struct Transition {
  Observation observation;
  int action = 0;
  float reward = 0;
  bool terminated = false;
  bool cut = false;  // truncated, or the rollout ended here: `next` tells what the future is worth
  Observation next;  // only where cut
};

// One environment's way through time, in order.
using Trajectory = std::vector<Transition>;

struct Actor {
  std::unique_ptr<Environment> environment;
  Random random{0};
  bool fresh = true;  // needs a reset
};

std::vector<Trajectory> roll_out(const Network& network, std::vector<Actor>& actors, int steps);

// advantage and return per transition. `value` is of each observation, `next_value` of `next` where cut
// (elsewhere ignored).
struct Advantages {
  std::vector<float> advantage, value_target;
};
Advantages estimate_advantages(const Trajectory& trajectory, const std::vector<float>& value,
                               const std::vector<float>& next_value, double gamma, double lambda);

int sample(const std::vector<float>& scores, Random& random);  // from the softmax

}  // namespace l3dml::drl
