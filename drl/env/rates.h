// Synchronised rates: given the trees of a plan, the rates and shares that make the iteration as short as
// possible.
//
// Every child of a stripe sends at the stripe's rate f_s; its chunks take share_s * bits / f_s after a
// latency L_s. All stripes end together at T where sum f_s (T - L_s)+ = bits, and the rates are feasible when
// sum takes_s f_s <= capacity. The smallest T is the root of a convex, increasing function whose value is a
// packing program, found by Newton steps (Dinkelbach); stripes whose latency alone exceeds T get rate and
// share 0.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "drl/env/packing.h"
#include "drl/env/space.h"

namespace l3dml::drl {

struct Allocation {
  double time_s = kUnlimited;
  std::vector<double> rate_bps;  // per column, payload
  std::vector<double> share;     // per column, sums to 1
  std::vector<double> pressure;  // per row: its price times its capacity, sums to 1 over all rows
  std::vector<double> load;      // per row: used part of the capacity, 0..1
};

class RateSolver {
 public:
  const Allocation& solve(const Space& space, std::span<const Column* const> columns);
  const Allocation& solve(const Space& space, std::initializer_list<const Column*> columns) {
    return solve(space, std::span(columns.begin(), columns.size()));
  }

 private:
  Packing packing_;
  Allocation result_;
  std::vector<const double*> takes_;
  std::vector<double> value_;
};

// The shortest time that one tree alone can reach, and its rate.
double rate_alone(const Space& space, const Column& column);
double time_alone(const Space& space, const Column& column);

}  // namespace l3dml::drl
