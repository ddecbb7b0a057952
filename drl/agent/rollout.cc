#include "drl/agent/rollout.h"

#include <algorithm>
#include <cmath>

#include <tbb/parallel_for.h>

namespace l3dml::drl {

int sample(const std::vector<float>& scores, Random& random) {
  const float top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (const float s : scores) total += std::exp(s - top);
  double left = random.unit() * total;
  for (size_t i = 0; i < scores.size(); ++i)
    if ((left -= std::exp(scores[i] - top)) < 0) return static_cast<int>(i);
  return static_cast<int>(scores.size()) - 1;
}

std::vector<Trajectory> roll_out(const Network& network, std::vector<Actor>& actors, int steps) {
  std::vector<Trajectory> out(actors.size());
  tbb::parallel_for(size_t{0}, actors.size(), [&](size_t a) {
    Actor& actor = actors[a];
    Network::Scratch scratch;
    std::vector<float> scores;
    for (int i = 0; i < steps; ++i) {
      if (actor.fresh) actor.environment->reset();
      Transition t;
      t.observation = actor.environment->observation();
      network.scores(t.observation, scratch, scores);
      t.action = sample(scores, actor.random);
      const Environment::Outcome outcome = actor.environment->step(t.action);
      t.reward = static_cast<float>(outcome.reward);
      t.terminated = outcome.terminated;
      t.cut = !outcome.terminated && (outcome.truncated || i + 1 == steps);
      if (t.cut) t.next = actor.environment->observation();
      actor.fresh = outcome.terminated || outcome.truncated;
      out[a].push_back(std::move(t));
    }
  });
  return out;
}

Advantages estimate_advantages(const Trajectory& trajectory, const std::vector<float>& value,
                               const std::vector<float>& next_value, double gamma, double lambda) {
  Advantages out;
  out.advantage.resize(trajectory.size());
  out.value_target.resize(trajectory.size());
  double running = 0;
  for (size_t i = trajectory.size(); i-- > 0;) {
    const Transition& t = trajectory[i];
    const bool ends = t.terminated || t.cut;
    const double after = t.terminated ? 0 : (t.cut ? next_value[i] : value[i + 1]);
    const double delta = t.reward + gamma * after - value[i];
    running = delta + (ends ? 0 : gamma * lambda * running);
    out.advantage[i] = static_cast<float>(running);
    out.value_target[i] = static_cast<float>(running + value[i]);
  }
  return out;
}

}  // namespace l3dml::drl
