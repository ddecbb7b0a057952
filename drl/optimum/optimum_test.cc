#include "drl/optimum/optimum.h"

#include <glpk.h>
#include <gtest/gtest.h>

#include "drl/env/packing.h"
#include "drl/env/random.h"
#include "drl/env/scenario.h"
#include "drl/env/test_networks.h"

namespace l3dml::drl {
namespace {

TEST(Packing, agrees_with_glpk) {
  Random random(11);
  Packing packing;
  for (int trial = 0; trial < 200; ++trial) {
    const int rows = 1 + random.below(40), n = 1 + random.below(10);
    std::vector<double> capacity, value;
    std::vector<std::vector<double>> columns(n);
    for (int i = 0; i < rows; ++i) capacity.push_back(random.chance(0.05) ? 0 : random.between(1, 100));
    for (auto& column : columns) {
      for (int i = 0; i < rows; ++i) column.push_back(random.chance(0.3) ? random.below(4) : 0);
      column[0] += 1;  // bounded
      value.push_back(random.between(0.1, 2));
    }
    std::vector<const double*> pointers;
    for (const auto& column : columns) pointers.push_back(column.data());
    ASSERT_TRUE(packing.solve(capacity, pointers, value));

    glp_prob* lp = glp_create_prob();
    glp_set_obj_dir(lp, GLP_MAX);
    glp_add_rows(lp, rows);
    glp_add_cols(lp, n);
    for (int i = 0; i < rows; ++i) glp_set_row_bnds(lp, i + 1, GLP_UP, 0, capacity[i]);
    for (int j = 0; j < n; ++j) {
      glp_set_col_bnds(lp, j + 1, GLP_LO, 0, 0);
      glp_set_obj_coef(lp, j + 1, value[j]);
      std::vector<int> index(rows + 1);
      std::vector<double> entry(rows + 1);
      for (int i = 0; i < rows; ++i) {
        index[i + 1] = i + 1;
        entry[i + 1] = columns[j][i];
      }
      glp_set_mat_col(lp, j + 1, rows, index.data(), entry.data());
    }
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    ASSERT_EQ(glp_simplex(lp, &options), 0);
    EXPECT_NEAR(packing.objective(), glp_get_obj_val(lp), 1e-6 * (1 + glp_get_obj_val(lp)));
    double dual = 0;
    for (int i = 0; i < rows; ++i) dual += packing.price()[i] * capacity[i];
    EXPECT_NEAR(dual, packing.objective(), 1e-6 * (1 + dual));  // strong duality: the prices are right
    glp_delete_prob(lp);
  }
}

Problem small_problem(Random& random, double bytes) {
  const int n = 4 + random.below(2);
  Problem p = sites_problem(n, bytes);
  for (int i = 0; i < n; ++i)
    add_cable(p, i, (i + 1) % n, random.log_between(5e8, 1e10), random.between(0.001, 0.05));
  if (random.chance(0.7)) add_cable(p, 0, 2, random.log_between(5e8, 1e10), random.between(0.001, 0.05));
  add_children(p, {0, 1, 2});
  for (Child& c : p.children) c.ready_s = random.between(0, 0.05);
  if (random.chance(0.3))
    for (Site& s : p.sites) s.slots = 32768;
  return p;
}

TEST(Optimum, column_generation_equals_enumeration_of_every_tree) {
  Random random(5);
  for (int trial = 0; trial < 12; ++trial) {
    const auto space = Space::create(small_problem(random, random.log_between(1e6, 1e10)), 2);
    ASSERT_TRUE(space.ok());
    const auto all = enumerate(*space);
    ASSERT_TRUE(all.ok()) << all.status();
    const auto found = bracket(*space);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NEAR(found->upper_s, *all, 2e-5 * *all) << trial;
    EXPECT_NEAR(found->lower_s, *all, 2e-5 * *all) << trial;
  }
}

TEST(Optimum, of_jobs_of_a_few_packets_is_found_too) {  // gains of nanoseconds, below any absolute tolerance
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed + 77);
    const Topology t = random_topology(5 + random.below(8), random, 0.2);
    ScenarioOptions options;
    options.kind = seed % 2 ? ScenarioKind::kStraggler : ScenarioKind::kPlain;
    options.min_bytes = 100;
    options.max_bytes = 1e5;
    const auto problem = draw_problem(t, options, seed + 1000);
    ASSERT_TRUE(problem.ok());
    const auto found = bracket(*Space::create(*problem));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_LT(found->generated, 2000) << seed;
    EXPECT_LE(found->lower_s, found->upper_s);
  }
}

TEST(Optimum, bracket_holds_the_optimum_where_workers_send_themselves) {
  Random random(6);
  for (int trial = 0; trial < 5; ++trial) {
    Problem p = small_problem(random, random.log_between(1e6, 1e10));
    p.sites[1].aggregates = false;
    p.children[1].summed_at_site = false;
    p.children.push_back(p.children[1]);
    const auto space = Space::create(p, 2);
    ASSERT_TRUE(space.ok()) << space.status();
    const auto all = enumerate(*space);
    const auto found = bracket(*space);
    ASSERT_TRUE(all.ok() && found.ok());
    EXPECT_LE(found->lower_s, *all * (1 + 1e-5));
    EXPECT_GE(found->upper_s, *all * (1 - 1e-5));
  }
}

TEST(Optimum, its_plan_reaches_its_time) {
  const auto t = bundled_topology("abilene");
  ASSERT_TRUE(t.ok());
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const auto problem = draw_problem(*t, {}, seed);
    ASSERT_TRUE(problem.ok());
    const auto space = Space::create(*problem);
    const auto found = bracket(*space);
    ASSERT_TRUE(found.ok());
    std::vector<const Column*> pointers;
    for (const Column& c : found->columns) {
      ASSERT_TRUE(space->complete(c.tree));
      pointers.push_back(&c);
    }
    RateSolver solver;
    EXPECT_NEAR(solver.solve(*space, pointers).time_s, found->upper_s, 1e-5 * found->upper_s);
  }
}

TEST(Optimum, enumeration_says_when_a_case_is_too_large) {
  const auto t = bundled_topology("geant");
  const auto problem = draw_problem(*t, {}, 1);
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(enumerate(*Space::create(*problem), 1000).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace l3dml::drl
