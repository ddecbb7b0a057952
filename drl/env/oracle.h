// The cheapest trees under prices. With a price per unit of rate on every directed link, the cost of a tree
// is the sum over its legs, so for given root and inner aggregators each child simply takes its cheapest leg.
// All (root, inner) choices are enumerated: a few microseconds for twelve sites. This is the pricing step of
// column generation in `optimum` and the candidate generator of the policy.
#pragma once

#include <vector>

#include "drl/env/space.h"

namespace l3dml::drl {

struct Hubs {  // who aggregates in a tree
  int root = -1;
  int inner[kMaxInner] = {-1, -1};  // sites, -1 = none; the first is filled first
  float cost = 0;
};

class Oracle {
 public:
  explicit Oracle(const Space& space);

  // Cheapest alive candidate path per leg; `price` per directed link (result traffic pays its reverse links
  // too). Prices must be finite and not negative.
  void set_prices(const double* price);

  // Every (root, inner) choice in a fixed order; cost is filled. The list is rebuilt by set_prices.
  const std::vector<Hubs>& all() const { return all_; }

  // The `count` cheapest, at most `per_root` of one root, cheapest first.
  void cheapest(int count, int per_root, std::vector<Hubs>& out) const;

  Tree tree(const Hubs& hubs) const;  // with each child's cheapest leg; normalised

 private:
  float leg_cost(int from, int to) const { return cost_[from * sites_ + to]; }
  const Space& space_;
  int sites_;
  int lanes_;  // children, padded for vector instructions
  std::vector<int> aggregators_;
  std::vector<float> cost_;        // sites x sites
  std::vector<int> path_;          // sites x sites
  std::vector<float> child_cost_;  // sites x lanes
  std::vector<Hubs> all_;
};

}  // namespace l3dml::drl
