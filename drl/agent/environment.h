// What PPO learns from: episodes of choices among candidates. One thread per environment.
#pragma once

#include <memory>
#include <vector>

#include "drl/env/random.h"
#include "drl/policy/refine.h"

namespace l3dml::drl {

class Environment {
 public:
  struct Outcome {
    double reward = 0;
    bool terminated = false;  // the episode is over, nothing follows
    bool truncated = false;   // it was cut; its last observation still has a value
  };
  virtual ~Environment() = default;
  virtual void reset() = 0;                            // a new episode
  virtual const Observation& observation() const = 0;  // at least one candidate unless the episode is over
  virtual Outcome step(int action) = 0;
};

// Refinement of plans for problems of a pool. The reward of a step is log(time before / time after), and the
// last step pays for stripes that do not fit into max_stripes: an episode sums to log(first time / final
// time), which is the log of the ratio to the optimum up to a constant of the problem. So no optimum is
// needed to train.
class RoutingEnvironment : public Environment {
 public:
  RoutingEnvironment(const std::vector<std::shared_ptr<const Space>>& pool, int steps, uint64_t seed)
      : pool_(pool), steps_(steps), random_(seed) {}
  void reset() override;
  const Observation& observation() const override { return *observation_; }
  Outcome step(int action) override;

 private:
  const std::vector<std::shared_ptr<const Space>>& pool_;
  int steps_;
  Random random_;
  std::unique_ptr<Refine> refine_;
  const Observation* observation_ = nullptr;
};

}  // namespace l3dml::drl
