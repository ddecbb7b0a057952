// Exact pricing with latencies: for given root and inner aggregators, the tree that minimises
//   sum of its legs' costs + arrival + down_weight * down,
// arrival = max over children (ready + way up), down = max over children (way down). Costs are additive, the
// two maxima are not, so the legs are walked along their Pareto front: take every child's cheapest leg, then
// forbid the legs that make the maximum, again and again, first for `down` and inside it for `arrival`. With
// the same delay up and down (all children summed at their sites) tightening one cap never raises the other
// maximum, so the walk misses nothing.
#pragma once

#include <vector>

#include "drl/env/oracle.h"

namespace l3dml::drl {

class LatencyPricing {
 public:
  // Requires every child to be summed at its site.
  explicit LatencyPricing(const Space& space) : space_(space) {}

  void set_prices(const std::vector<double>& link_price);

  // The best tree of these hubs and its value; gives up (returns false) if nothing is below `limit`.
  bool best(const Hubs& hubs, double down_weight, double limit, Tree& tree, double& value);

 private:
  struct Option {
    Leg leg;
    double cost, delay_s;
  };
  double walk(double down_weight, double base, double limit, std::vector<int>& chosen);
  const Space& space_;
  std::vector<double> path_cost_;
  std::vector<std::vector<Option>> options_;  // per child, cheapest first
};

}  // namespace l3dml::drl
