#include "drl/policy/baselines.h"

#include <cmath>

#include <gtest/gtest.h>

#include "drl/env/scenario.h"
#include "drl/env/test_networks.h"

namespace l3dml::drl {
namespace {

void expect_sound(const Space& space, const Draft& draft, const std::string& name) {
  ASSERT_FALSE(draft.columns.empty()) << name;
  EXPECT_TRUE(std::isfinite(draft.time_s())) << name;
  EXPECT_LE(static_cast<int>(draft.columns.size()), space.problem().job.max_stripes) << name;
  double share = 0;
  for (size_t i = 0; i < draft.columns.size(); ++i) {
    EXPECT_TRUE(space.complete(draft.columns[i].tree)) << name;
    share += draft.allocation.share[i];
  }
  EXPECT_NEAR(share, 1, 1e-6) << name;
  for (int row = 0; row < space.row_count(); ++row) {
    double used = 0;
    for (size_t i = 0; i < draft.columns.size(); ++i)
      used += draft.columns[i].takes[row] * draft.allocation.rate_bps[i];
    EXPECT_LE(used, space.capacity()[row] * (1 + 1e-6)) << name << " row " << row;
  }
}

TEST(Baselines, every_plan_is_complete_and_within_capacity) {
  for (const char* name : {"abilene", "b4", "ring"}) {
    const auto t = bundled_topology(name);
    ASSERT_TRUE(t.ok());
    for (uint64_t seed = 0; seed < 8; ++seed) {
      ScenarioOptions options;
      options.kind = seed % 2 ? ScenarioKind::kStraggler : ScenarioKind::kPlain;
      options.max_stripes = 1 + static_cast<int>(seed);
      const auto problem = draw_problem(*t, options, seed);
      ASSERT_TRUE(problem.ok());
      const auto space = Space::create(*problem);
      ASSERT_TRUE(space.ok());
      for (const Baseline& b : guard_baselines()) expect_sound(*space, b.plan(*space), b.name);
      expect_sound(*space, random_plan(*space, seed), "random");
    }
  }
}

TEST(Baselines, hub_of_a_star_is_found_by_all_that_choose_a_root) {
  const auto space = Space::create(star_problem(5));
  ASSERT_TRUE(space.ok());
  for (auto* plan : {shortest, ecmp, greedy}) EXPECT_EQ(plan(*space).columns[0].tree.root, 5);
}

TEST(Baselines, greedy_avoids_the_degraded_link_that_shortest_takes) {
  Problem p = sites_problem(4);
  add_cable(p, 0, 1, 10e9, 0.01);
  add_cable(p, 1, 2, 10e9, 0.01);
  add_cable(p, 0, 3, 10e9, 0.02);
  add_cable(p, 3, 2, 10e9, 0.02);
  add_children(p, {0, 1, 2});
  p.links[0].available_bps = p.links[1].available_bps = 0.2e9;
  const auto space = Space::create(p);
  ASSERT_TRUE(space.ok());
  EXPECT_LT(greedy(*space).time_s(), 0.3 * shortest(*space).time_s());
}

TEST(Baselines, local_search_is_no_worse_than_where_it_starts) {
  const auto t = bundled_topology("b4");
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto problem = draw_problem(*t, {}, seed);
    const auto space = Space::create(*problem);
    ASSERT_TRUE(space.ok());
    EXPECT_LE(local_search(*space).time_s(), greedy(*space).time_s() * (1 + 1e-9));
  }
}

TEST(Baselines, one_child_needs_no_wan) {
  Problem p = star_problem(2);
  p.children.resize(1);
  p.children[0].ready_s = 0.5;
  const auto space = Space::create(p);
  ASSERT_TRUE(space.ok());
  for (const Baseline& b : guard_baselines()) {
    const Draft d = b.plan(*space);
    ASSERT_FALSE(d.columns.empty()) << b.name;
    EXPECT_NEAR(d.time_s(), 0.5, 1e-3) << b.name;
  }
}

}  // namespace
}  // namespace l3dml::drl
