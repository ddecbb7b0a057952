// The reference: the shortest iteration that any plan in the decision space can reach, with a proof.
//
// bracket() runs column generation (GLPK master) for any number of stripes, so fewer stripes cannot be
// faster.
//   all children summed at their sites: pricing is exact (LatencyPricing) and lower_s = upper_s = the optimum
//   else: upper_s is a real plan's, lower_s that of a relaxation (each child's cheapest leg is also its
//   fastest)
// enumerate() tries every tree (small cases only); it checks bracket() in tests.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "drl/env/rates.h"

namespace l3dml::drl {

struct Bracket {
  double lower_s = 0;
  double upper_s = 0;
  std::vector<Column> columns;  // of the upper plan, positive shares only
  int generated = 0;
};

absl::StatusOr<Bracket> bracket(const Space& space);

// Every tree with every leg choice; ResourceExhausted above `limit` trees.
absl::StatusOr<std::vector<Column>> enumerate_columns(const Space& space, long limit = 200000);
absl::StatusOr<double> enumerate(const Space& space, long limit = 200000);

}  // namespace l3dml::drl
