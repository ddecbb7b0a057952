#include "drl/env/scenario.h"

#include <algorithm>
#include <cmath>

#include "drl/env/rates.h"

namespace l3dml::drl {
namespace {

// What an operator's default job does: the root nearest to all, shortest paths.
Tree nearest_root_tree(const Space& space) {
  Tree best;
  double best_delay = kUnlimited;
  for (int root : space.roots()) {
    Tree tree;
    tree.root = root;
    double delay = 0;
    for (const Child& c : space.problem().children) {
      const int path = c.site == root ? kSameSite : space.default_path(c.site, root);
      tree.child_legs.push_back({root, path});
      delay += path == kSameSite ? 0 : space.paths().delay_s(path);
    }
    if (delay < best_delay) {
      best_delay = delay;
      best = tree;
    }
  }
  return best;
}

void place_other_job(World& world, const Topology& topology, Random& random) {
  const int most = std::min<int>(6, static_cast<int>(topology.sites.size()));
  Job job;
  job.bytes = 1e9;
  auto space = Space::create(
      world.problem_for(draw_children(topology, 2 + random.below(most - 1), false, random), job), 1);
  if (!space.ok()) return;  // cut off just now: that job waits
  Column column = space->column(nearest_root_tree(*space));
  const double rate = rate_alone(*space, column) * random.between(0.2, 0.8);
  world.add_job(*space, {std::move(column)}, {rate});
}

}  // namespace

std::vector<Child> draw_children(const Topology& topology, int count, bool slow_site, Random& random) {
  std::vector<int> order(topology.sites.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  random.shuffle(order);
  const double compute_s = random.log_between(0.02, 0.3);
  const int slow = slow_site ? random.below(count) : -1;
  std::vector<Child> children;
  for (int at = 0; at < static_cast<int>(order.size()) && static_cast<int>(children.size()) < count; ++at) {
    const Site& site = topology.sites[order[at]];
    const int workers = 1 + random.below(4);
    double ready = compute_s * std::exp(0.1 * random.normal());
    if (at == slow) ready *= random.between(1.2, 2);
    for (int w = 0; w < (site.aggregates ? 1 : workers) && static_cast<int>(children.size()) < count; ++w)
      children.push_back({order[at], site.aggregates ? workers : 1, ready, 25e9, site.aggregates});
  }
  return children;
}

absl::StatusOr<Problem> draw_problem(const Topology& topology, const ScenarioOptions& o, uint64_t seed) {
  Random random(seed * 2 + 1);
  const bool straggler = o.kind == ScenarioKind::kStraggler;
  for (int attempt = 0; attempt < 50; ++attempt) {
    WorldOptions options;
    options.background_load = random.between(0.05, straggler ? 0.4 : 0.5);
    options.burst_factor = straggler ? 8 : 4;
    Topology network = topology;
    const bool small = random.chance(o.small_switches);
    for (Site& s : network.sites)
      if (s.aggregates) s.slots = small ? 16384 * std::exp2(random.below(5)) : 1 << 22;
    World world(network, random.bits(), options);
    world.advance(random.between(0, 1200));
    for (int others = random.below(4); others > 0; --others) place_other_job(world, network, random);

    const int most = std::min<int>(o.max_children, static_cast<int>(network.sites.size()));
    const int count = o.min_children + random.below(std::max(1, most - o.min_children + 1));
    std::vector<Child> children = draw_children(network, count, straggler, random);
    Job job;
    job.bytes = random.log_between(o.min_bytes, o.max_bytes);
    job.max_stripes = o.max_stripes;
    if (straggler) {  // a link that the default plan uses
      auto space = Space::create(world.problem_for(children, job), 1);
      if (!space.ok()) continue;
      const Column column = space->column(nearest_root_tree(*space));
      std::vector<int> used;
      for (int e = 0; e < space->link_count(); ++e)
        if (column.takes[e] > 0) used.push_back(e);
      if (used.empty()) continue;
      world.degrade(used[random.below(static_cast<int>(used.size()))], random.log_between(0.05, 0.3), 3600);
    }
    Problem problem = world.problem_for(std::move(children), job);
    if (Space::create(problem, 1).ok()) return problem;
  }
  return absl::FailedPreconditionError("no connected scenario in 50 draws");
}

}  // namespace l3dml::drl
