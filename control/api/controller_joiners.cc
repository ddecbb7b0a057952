// Ranks that come to a running job. Each stripe has a coordinator of its own, yet a rank must begin with the
// same collective on all of them: they stop before the furthest that any of them has begun, and start the
// rank once all have stopped there.
#include <algorithm>

#include "control/api/controller_state.h"

namespace l3dml::control {

Planner::JoinPoint Controller::StripePlanner::join_point(uint64_t begun, bool done) {
  JoinPoint& point = job_.join_point;
  auto& stripes = job_.stripes;
  const auto others_change = [&] {
    for (uint32_t i = 0; i < stripes.size(); ++i) stripes[i].change_wanted |= i != stripe_;
  };
  if (point.agreed) return point;
  if (begun > point.collective) {
    point.collective = begun;
    others_change();
  }
  if (done && begun == point.collective) stripes[stripe_].stopped_at = begun;
  point.agreed = std::all_of(stripes.begin(), stripes.end(), [&](const Job::Stripe& stripe) {
    return stripe.stopped_at == point.collective;
  });
  if (point.agreed) others_change();
  return point;
}

// True: coordinators have something to say.
bool Controller::carry_joiners(Job& job) {
  const auto begun = [&](uint32_t rank) {
    return std::all_of(job.stripes.begin(), job.stripes.end(), [&](const Job::Stripe& stripe) {
      return stripe.coordinator->members().contains(rank) &&
             stripe.coordinator->phase() == Coordinator::Phase::running;
    });
  };
  bool news = false;
  if (!job.starting.empty() && std::all_of(job.starting.begin(), job.starting.end(), begun)) {
    for (const uint32_t rank : job.starting) job.record.members[rank].starting = false;
    job.starting.clear();
    if (absl::Status s = save_job(job); !s.ok())
      event("store_failed", job.record.specification.name, std::string(s.message()));
  }
  if (job.starting.empty() && !job.waiting_to_start.empty()) {
    news = true;
    job.starting.swap(job.waiting_to_start);
    job.join_point = {};
    for (Job::Stripe& stripe : job.stripes) {
      stripe.stopped_at.reset();
      stripe.change_wanted = false;
      for (const uint32_t rank : job.starting)
        stripe.coordinator->handle(MemberJoins{rank}, options_.now_ns());
    }
  }
  for (Job::Stripe& stripe : job.stripes)
    if (std::exchange(stripe.change_wanted, false)) {
      news = true;
      stripe.coordinator->handle(ChangeWanted{}, options_.now_ns());
    }
  return news;
}

}  // namespace l3dml::control
