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

  // Every (root, inner) choice in a fixed order, with its cost as of set_prices.
  std::vector<Hubs> all() const;

  // The `count` cheapest, at most `per_root` of one root, cheapest first.
  void cheapest(int count, int per_root, std::vector<Hubs>& out) const;

  Tree tree(const Hubs& hubs) const;  // with each child's cheapest leg; normalised

  // The same choices as a table: a block of rows per root, a row per first inner aggregator (and one before
  // them for none), a place per second one; the choice of the first alone stands where both are the same. A
  // place with root < 0 is no choice. Reading order is the order of all().
  int row_width() const { return width_; }
  int row_count() const { return static_cast<int>(hubs_.size()) / width_; }
  const std::vector<Hubs>& places() const { return hubs_; }   // their costs mean nothing
  const std::vector<float>& costs() const { return costs_; }  // beside places(); mean nothing at no choice
  // Prices of a path: of gradients, of results that come back along it, and there and back.
  double up_price(int path) const { return per_path_[path * PathTable::kSums]; }
  double back_price(int path) const { return per_path_[path * PathTable::kSums + 1]; }
  double path_price(int path) const { return up_price(path) + back_price(path); }

 private:
  float leg_cost(int from, int to) const { return cost_[from * sites_ + to]; }
  void price_legs(const double* price);
  template <int kBlocks>
  void price_hubs(int root, float* costs);
  const Space& space_;
  int sites_;
  int width_;  // aggregators, padded for vector instructions
  std::vector<int> aggregators_;
  std::vector<double> per_link_, per_path_;  // kSums numbers each: up, back, both (summed by links)
  std::vector<float> cost_;                  // sites x sites
  std::vector<int> path_;                    // sites x sites
  int lanes_;                                // children, padded to whole blocks of strands
  std::vector<float> child_cost_;            // lanes x width: to each aggregator; padding costs nothing
  std::vector<float> between_;               // width x width: [to][from], of inner aggregators
  std::vector<float> least_;                 // per lane, of root and first inner aggregator, four times
  std::vector<Hubs> hubs_;
  std::vector<float> costs_;
};

}  // namespace l3dml::drl
