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

  // The most promising hubs, best first, at most `per_root` of one root, none whose bound reaches `limit_s`;
  // no more than 4 * `count` are looked at and `count` given. One after the other, since few are used up.
  void begin(int count, int per_root, double limit_s);
  const Hubs* next();  // nullptr: no more

  Tree tree(const Hubs& hubs);  // normalised

 private:
  double sigma(const Hubs& hubs) const;
  double leg_cost(int child, const Leg& leg) const;
  const Space& space_;
  Oracle oracle_;
  std::vector<float> latency_, delay_;  // per place of the oracle's table: what any tree there has at least
  std::vector<double> slot_price_;      // per site
  std::vector<char> has_child_;         // per site, summed there
  double children_sigma_ = 0;
  bool slots_priced_ = false;
  // Of begin() and next(): bounds that are still to be given, and the least of each row.
  std::vector<float> bound_, row_least_;
  float limit_ = 0;
  int given_ = 0, looked_at_ = 0, count_ = 0, per_root_ = 0;
  std::vector<int> taken_;
};

}  // namespace l3dml::drl
