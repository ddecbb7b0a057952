// Good trees under prices when latency counts: which hubs promise most, and for given hubs a tree whose
// slowest legs were traded for faster ones as long as that pays. What a tree costs (seconds, one unit of
// rate) is
//   sum of its legs' prices + arrival + (1 + 2 sigma) * down,    sigma: price of its slots per second of
//   round trip.
// The sum is additive, the two maxima are not: hubs are ranked by a bound (every child's cheapest leg, every
// child's fastest leg), and the walk forbids the leg that makes the maximum, again and again. A few
// microseconds a tree; exact pricing is in drl/optimum. One thread, owns its buffers.
#pragma once

#include <vector>

#include "drl/env/oracle.h"

namespace l3dml::drl {

class PricingTree {
 public:
  explicit PricingTree(const Space& space);

  // Prices per directed link and slot row (seconds per unit of rate), finite, not negative.
  void set_prices(const std::vector<double>& row_price);

  // The `count` most promising hubs, at most `per_root` of one root, best first, none whose bound exceeds
  // `limit_s`.
  void promising(int count, int per_root, double limit_s, std::vector<Hubs>& out);

  Tree tree(const Hubs& hubs);  // normalised

 private:
  double sigma(const Hubs& hubs) const;
  double leg_cost(int child, const Leg& leg) const;
  const Space& space_;
  Oracle oracle_;
  std::vector<float> latency_, delay_;  // per hubs: what any tree of theirs has at least
  std::vector<double> path_price_;      // there and back
  std::vector<double> up_price_;
  std::vector<double> slot_price_;  // per site
  std::vector<char> has_child_;     // per site, summed there
  double children_sigma_ = 0;
  bool slots_priced_ = false;
  struct Promise {
    float cost;
    int at;
  };
  std::vector<Promise> promises_;
  std::vector<int> taken_;
};

}  // namespace l3dml::drl
