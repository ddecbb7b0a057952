#include "control/topology/topology.h"

#include "control/topology/paths.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

TEST(Address, names_the_place_of_aggregation) {
  EXPECT_EQ(text(aggregation_address(0xfd00'0001'0002, 0x0103, 4, 0x1234, 7)), "fd00:1:2:103:104:1234:7:0");
  EXPECT_EQ(text(host_address(0xfd00'0001'0002, 0x0103, 0x00050006)), "fd00:1:2:103::5:6");
  EXPECT_EQ(text4(host_address4(0x0103, 9)), "10.1.3.9");
  EXPECT_EQ(text(switch_mac(0x0103)), "02:4c:33:00:01:03");
}

// a - b - d, a - c - d (shorter), a - d (long)
struct Diamond {
  Topology t;
  SiteId a = *t.add_site("a"), b = *t.add_site("b"), c = *t.add_site("c"), d = *t.add_site("d");
  LinkId ab = *t.add_link("ab", a, b, 100e6, 0.010, 0.1);
  LinkId bd = *t.add_link("bd", b, d, 10e6, 0.010, 0.2);
  LinkId ac = *t.add_link("ac", a, c, 0, 0.005, 0);
  LinkId cd = *t.add_link("cd", c, d, 0, 0.005, 0);
  LinkId ad = *t.add_link("ad", a, d, 0, 0.050, 0);
};

TEST(Topology, refuses_what_is_there_twice_and_gives_ports_once) {
  Diamond n;
  EXPECT_EQ(n.t.add_site("a").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(n.t.add_link("ab", n.a, n.c, 0, 0, 0).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(n.t.add_link("aa", n.a, n.a, 0, 0, 0).ok());
  const HostId h = *n.t.add_host("h", n.a, 0, 0);
  EXPECT_EQ(n.t.hosts()[h].port, 4);  // after the three links
  EXPECT_EQ(n.t.hosts()[h].number, 1u);
}

TEST(Topology, says_so_when_ports_run_out) {
  Topology t;
  const SiteId a = *t.add_site("a");
  absl::Status last;
  for (int i = 0; i < 70 && last.ok(); ++i) last = t.add_host("h" + std::to_string(i), a, 0, 0).status();
  EXPECT_EQ(last.code(), absl::StatusCode::kResourceExhausted);
}

TEST(Paths, takes_the_shortest_and_avoids_a_link_that_is_down) {
  Diamond n;
  auto steps = path_steps(paths_to(n.t, n.d), n.a);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].link, n.ac);
  n.t.set_link_up(n.cd, false);
  steps = path_steps(paths_to(n.t, n.d), n.a);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].link, n.ab);
  const PathFigures figures = path_figures(n.t, steps);
  EXPECT_DOUBLE_EQ(figures.delay_s, 0.020);
  EXPECT_DOUBLE_EQ(figures.rate_bps, 10e6);
  EXPECT_DOUBLE_EQ(figures.delivered, 0.9 * 0.8);
}

TEST(Paths, says_where_there_is_none) {
  Diamond n;
  for (LinkId l : {n.bd, n.cd, n.ad}) n.t.set_link_up(l, false);
  const PathTree tree = paths_to(n.t, n.d);
  EXPECT_FALSE(tree.reaches(n.a));
  EXPECT_TRUE(path_steps(tree, n.a).empty());
}

}  // namespace
}  // namespace l3dml::control
