#include "drl/agent/environment.h"

#include <cmath>

namespace l3dml::drl {

void RoutingEnvironment::reset() {
  for (;;) {  // problems that the first trees solve teach nothing
    refine_ = std::make_unique<Refine>(*pool_[random_.below(static_cast<int>(pool_.size()))], steps_);
    observation_ = &refine_->observe();
    if (observation_->candidates > 0) return;
  }
}

Environment::Outcome RoutingEnvironment::step(int action) {
  const double before = refine_->time_s();
  refine_->choose(action);
  observation_ = &refine_->observe();
  Outcome out;
  out.terminated = observation_->candidates == 0;
  out.reward = std::log(before / (out.terminated ? refine_->draft().time_s() : refine_->time_s()));
  return out;
}

}  // namespace l3dml::drl
