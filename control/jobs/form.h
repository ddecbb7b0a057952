// Which stripes a job should have where nobody says so: one root at the best switch, or a root at each
// member's site. The baseline that a trained policy is measured against; it enumerates, it does not learn.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "control/jobs/plan.h"

namespace l3dml::control {

struct FormOptions {
  int stripes = 0;  // 0: as many as is best
  bool inner = true;
  double bytes = 4e6;  // of a typical collective: what one round trip more is worth
};

// Time for one collective of `bytes`, by the arithmetic of sizing.h: transfer plus one round trip.
double collective_time_s(const JobSize& size, double bytes);

// Errors: no aggregating switch reaches all members.
absl::StatusOr<std::vector<StripeRequest>> choose_form(const Topology& topology,
                                                       const std::vector<HostId>& members,
                                                       const SizingOptions& sizing,
                                                       const FormOptions& options = {});

}  // namespace l3dml::control
