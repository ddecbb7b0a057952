// What operators do today, and stronger heuristics, over the same decision space as the policy:
//   shortest      nearest root (least total delay), shortest paths, one stripe
//   ecmp          nearest root, a hash picks among paths of fewest hops, one stripe
//   widest        root and paths of most room per child, each child by itself, one stripe
//   greedy        greedy rate synchronisation: for every root, hardest child first takes the path that leaves
//   the common
//                 rate highest; the best root wins, one stripe
//   spread        a stripe rooted at every child's site, equal shares and rates, shortest paths (as host
//   algorithms do) local_search  hill climbing over whole plans from the better of greedy and spread, a fixed
//   number of tries columns       column generation cut off after max_stripes trees; what a solver gives in
//   the policy's time random        random roots, inner aggregators and paths
// All are deterministic (random: by its seed) and take microseconds to a few milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drl/env/oracle.h"
#include "drl/env/rates.h"

namespace l3dml::drl {

struct Draft {  // a plan before it is written out
  std::vector<Column> columns;
  Allocation allocation;
  double time_s() const { return allocation.time_s; }
};

// Rates and shares for the columns; those without a share are dropped, and the smallest while there are too
// many.
Draft finish(const Space& space, std::vector<Column> columns);

Draft shortest(const Space& space);
Draft ecmp(const Space& space);
Draft widest(const Space& space);
Draft greedy(const Space& space);
Draft spread(const Space& space);
Draft local_search(const Space& space, int tries = 400, uint64_t seed = 1);
Draft columns(const Space& space);
Draft random_plan(const Space& space, uint64_t seed);

struct Baseline {
  std::string name;
  Draft (*plan)(const Space&);
};
const std::vector<Baseline>& guard_baselines();  // those that the guard compares against: all but random

}  // namespace l3dml::drl
