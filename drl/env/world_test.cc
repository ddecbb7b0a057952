#include "drl/env/world.h"

#include <set>

#include <gtest/gtest.h>

#include "drl/env/rates.h"
#include "drl/env/scenario.h"

namespace l3dml::drl {
namespace {

TEST(MaxMin, shares_a_bottleneck_and_gives_the_rest_to_others) {
  const std::vector<double> capacity = {10, 4};
  std::vector<Flow> flows(3);
  flows[0] = {{{0, 1}}, 100};
  flows[1] = {{{0, 1}, {1, 1}}, 100};
  flows[2] = {{{1, 1}}, 1};
  const std::vector<double> rate = max_min(capacity, flows);
  EXPECT_NEAR(rate[2], 1, 1e-9);
  EXPECT_NEAR(rate[1], 3, 1e-9);
  EXPECT_NEAR(rate[0], 7, 1e-9);
}

TEST(MaxMin, a_flow_that_crosses_twice_gets_half) {
  const std::vector<double> capacity = {9};
  std::vector<Flow> flows(2);
  flows[0] = {{{0, 2}}, 100};
  flows[1] = {{{0, 1}}, 100};
  const std::vector<double> rate = max_min(capacity, flows);
  EXPECT_NEAR(rate[0], 3, 1e-9);
  EXPECT_NEAR(rate[1], 3, 1e-9);
}

TEST(Topology, bundled_networks_have_their_published_sizes) {
  const std::vector<std::tuple<std::string, size_t, size_t>> published = {
      {"abilene", 12, 15}, {"b4", 12, 19}, {"geant", 22, 36}, {"star", 6, 5}, {"ring", 6, 6}};
  for (const auto& [name, sites, cables] : published) {
    const auto t = bundled_topology(name);
    ASSERT_TRUE(t.ok()) << t.status();
    EXPECT_EQ(t->sites.size(), sites);
    EXPECT_EQ(t->links.size(), 2 * cables);
  }
  const auto missing = bundled_topology("nowhere");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
}

TEST(Topology, errors_name_the_line) {
  const auto line = [](const char* text) { return std::string(parse_topology(text).status().message()); };
  EXPECT_NE(line("site a 1 2\nsite a 1 2").find("line 2"), std::string::npos);
  EXPECT_NE(line("site a 1 2\n\nlink a b 10G").find("line 3"), std::string::npos);
  EXPECT_NE(line("site a 1 2\nsite b 1 2\nlink a b 10X").find("rate"), std::string::npos);
  EXPECT_NE(line("site a 1 2\nsite b 1 2\nlink a b 1G 5h").find("delay"), std::string::npos);
  EXPECT_NE(line("site a 91 2").find("degrees"), std::string::npos);
  EXPECT_NE(line("wat").find("expected"), std::string::npos);
  EXPECT_NE(line("# nothing").find("no sites"), std::string::npos);
}

TEST(Topology, random_networks_are_connected_and_repeatable) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random a(seed), b(seed);
    const Topology t = random_topology(5 + static_cast<int>(seed), a),
                   u = random_topology(5 + static_cast<int>(seed), b);
    ASSERT_EQ(t.links.size(), u.links.size());
    std::set<int> reached{0};
    for (size_t round = 0; round < t.sites.size(); ++round)
      for (const Link& l : t.links)
        if (reached.count(l.from)) reached.insert(l.to);
    EXPECT_EQ(reached.size(), t.sites.size());
  }
}

TEST(World, same_seed_same_world) {
  const auto t = bundled_topology("b4");
  ASSERT_TRUE(t.ok());
  World a(*t, 5), b(*t, 5), c(*t, 6);
  for (World* w : {&a, &b, &c}) w->advance(900);
  Random random(1);
  const std::vector<Child> children = draw_children(*t, 5, false, random);
  Job job;
  job.bytes = 1e9;
  const Problem pa = a.problem_for(children, job), pb = b.problem_for(children, job),
                pc = c.problem_for(children, job);
  bool differs = false;
  for (size_t e = 0; e < pa.links.size(); ++e) {
    EXPECT_EQ(pa.links[e].available_bps, pb.links[e].available_bps);
    differs = differs || pa.links[e].available_bps != pc.links[e].available_bps;
  }
  EXPECT_TRUE(differs);
}

TEST(World, background_and_degradation_take_room_and_give_it_back) {
  const auto t = bundled_topology("ring");
  ASSERT_TRUE(t.ok());
  WorldOptions quiet;
  quiet.background_load = 0;
  quiet.degrade_per_hour = quiet.fail_per_hour = 0;
  World world(*t, 1, quiet);
  Random random(1);
  const std::vector<Child> children = draw_children(*t, 3, false, random);
  Job job;
  job.bytes = 1e9;
  world.degrade(0, 0.1, 60);
  EXPECT_NEAR(world.problem_for(children, job).links[0].available_bps, 1e9, 1e3);
  EXPECT_NEAR(world.problem_for(children, job).links[1].available_bps, 1e9, 1e3);
  world.advance(120);
  EXPECT_NEAR(world.problem_for(children, job).links[0].available_bps, 10e9, 1e3);
}

// What the environment promises a job is what it gets when everybody sends: plans made from problem_for()
// hold under global max-min sharing.
TEST(World, a_plan_keeps_its_time_when_all_flows_compete) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto t = bundled_topology(seed % 2 ? "b4" : "abilene");
    ASSERT_TRUE(t.ok());
    World world(*t, seed);
    world.advance(300);
    Random random(seed);
    Job job;
    job.bytes = 1e9;
    const auto space = Space::create(world.problem_for(draw_children(*t, 4, false, random), job));
    if (!space.ok()) continue;
    std::vector<Column> columns;
    std::vector<const Column*> pointers;
    for (int root : space->roots()) {
      Tree tree;
      tree.root = root;
      for (const Child& c : space->problem().children)
        tree.child_legs.push_back({root, c.site == root ? kSameSite : space->default_path(c.site, root)});
      columns.push_back(space->column(tree));
    }
    for (const Column& c : columns) pointers.push_back(&c);
    RateSolver solver;
    const Allocation a = solver.solve(*space, pointers);
    EXPECT_NEAR(world.realised_time_s(*space, columns, a.rate_bps, a.share), a.time_s, 1e-3 * a.time_s)
        << seed;
  }
}

TEST(World, a_running_job_is_seen_by_others_but_not_by_itself) {
  const auto t = bundled_topology("star");
  ASSERT_TRUE(t.ok());
  WorldOptions quiet;
  quiet.background_load = 0;
  World world(*t, 1, quiet);
  Random random(2);
  Job job;
  job.bytes = 1e9;
  const std::vector<Child> children = draw_children(*t, 4, false, random);
  const auto space = Space::create(world.problem_for(children, job));
  ASSERT_TRUE(space.ok());
  Tree tree;
  tree.root = 0;
  for (const Child& c : children)
    tree.child_legs.push_back({0, c.site == 0 ? kSameSite : space->default_path(c.site, 0)});
  const Column column = space->column(tree);
  const int id = world.add_job(*space, {column}, {4e9});
  double least_other = 1e18, least_own = 1e18;
  for (const Link& l : world.problem_for(children, job).links)
    least_other = std::min(least_other, l.available_bps);
  for (const Link& l : world.problem_for(children, job, id).links)
    least_own = std::min(least_own, l.available_bps);
  EXPECT_LT(least_other, 6e9);
  EXPECT_NEAR(least_own, 10e9, 1e3);
  world.remove_job(id);
  for (const Link& l : world.problem_for(children, job).links) EXPECT_NEAR(l.available_bps, 10e9, 1e3);
}

TEST(Scenario, straggler_scenarios_are_repeatable_and_valid) {
  const auto t = bundled_topology("geant");
  ASSERT_TRUE(t.ok());
  ScenarioOptions options;
  options.kind = ScenarioKind::kStraggler;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = draw_problem(*t, options, seed), b = draw_problem(*t, options, seed);
    ASSERT_TRUE(a.ok()) << a.status();
    EXPECT_TRUE(validate(*a).ok());
    ASSERT_EQ(a->children.size(), b->children.size());
    for (size_t e = 0; e < a->links.size(); ++e)
      EXPECT_EQ(a->links[e].available_bps, b->links[e].available_bps);
  }
}

}  // namespace
}  // namespace l3dml::drl
