// Small models and observations for tests.
#pragma once

#include <string>
#include <vector>

#include "drl/env/random.h"
#include "drl/policy/model.h"

namespace l3dml::drl {

inline ModelInfo info_of(const std::string& name, int hidden) {
  ModelInfo info;
  info.name = name;
  info.hidden = hidden;
  return info;
}

inline std::vector<float> random_weights(int hidden, uint64_t seed) {
  Random random(seed);
  std::vector<float> out;
  for (const Parameter& p : network_parameters(hidden)) {
    const bool scale = p.name.find("_scale") != std::string::npos;
    for (int i = 0; i < p.rows * p.columns; ++i)
      out.push_back(static_cast<float>(scale ? 1 + 0.1 * random.normal() : 0.3 * random.normal()));
  }
  return out;
}

inline Observation random_observation(int links, int candidates, uint64_t seed) {
  Random random(seed);
  Observation o;
  o.links = links;
  o.candidates = candidates;
  const auto fill = [&](std::vector<float>& v, int n, double present) {
    v.assign(n, 0);
    for (float& x : v)
      if (random.chance(present)) x = static_cast<float>(random.normal());
  };
  fill(o.link, links * kLinkFeatures, 1);
  fill(o.takes, candidates * links, 0.5);
  fill(o.cost, candidates * links, 0.3);
  fill(o.candidate, candidates * kCandidateFeatures, 1);
  for (float& x : o.global) x = static_cast<float>(random.normal());
  return o;
}

}  // namespace l3dml::drl
