#include "control/jobs/tree.h"

#include "control/jobs/testing.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

using testing::Star;
using testing::TwoSites;

TEST(Tree, sums_at_the_far_site_before_the_wan) {
  TwoSites n;
  const Tree tree = *build_tree(n.t, n.members, n.west);
  ASSERT_EQ(tree.aggregators.size(), 2u);
  EXPECT_EQ(tree.aggregators[0].site, n.west);
  EXPECT_EQ(tree.aggregators[0].parent, -1);
  EXPECT_EQ(
      tree.aggregators[0].children,
      (std::vector<Child>{{NodeKind::worker, n.w0}, {NodeKind::worker, n.w1}, {NodeKind::aggregator, 1}}));
  EXPECT_EQ(tree.aggregators[1].site, n.east);
  EXPECT_EQ(tree.aggregators[1].parent, 0);
  EXPECT_EQ(tree.aggregators[1].child_index, 2);
}

TEST(Tree, leaves_out_switches_that_may_not_or_need_not_sum) {
  Star n(true);
  const Tree at_hub = *build_tree(n.t, n.members, n.hub);
  EXPECT_EQ(at_hub.aggregators.size(), 1u) << "one worker a site: nothing to sum there";
  const Tree at_site = *build_tree(n.t, n.members, n.sites[0]);
  ASSERT_EQ(at_site.aggregators.size(), 2u) << "the hub sums the other three";
  EXPECT_EQ(at_site.aggregators[1].site, n.hub);
  EXPECT_EQ(at_site.aggregators[1].children.size(), 3u);

  Star plain(false);
  EXPECT_EQ(build_tree(plain.t, plain.members, plain.sites[0])->aggregators.size(), 1u);
  EXPECT_EQ(build_tree(plain.t, plain.members, plain.hub).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Tree, says_who_cannot_reach_the_root) {
  TwoSites n;
  n.t.set_link_up(n.wan, false);
  const absl::Status s = build_tree(n.t, n.members, n.west).status();
  EXPECT_EQ(s.message(), "worker e0 has no path to root west");
}

TEST(Tree, refuses_more_children_than_a_bitmap_holds) {
  Topology t;
  const SiteId a = *t.add_site("a");
  std::vector<HostId> members;
  for (int i = 0; i < 32; ++i) members.push_back(*t.add_host("w" + std::to_string(i), a, 0, 0));
  EXPECT_EQ(build_tree(t, members, a).status().code(), absl::StatusCode::kResourceExhausted);
  members.pop_back();
  EXPECT_TRUE(build_tree(t, members, a).ok());
}

TEST(Tree, parents_come_before_children_in_a_deep_chain) {
  Topology t;
  std::vector<SiteId> sites;
  std::vector<HostId> members;
  for (int i = 0; i < 5; ++i) {
    sites.push_back(*t.add_site("s" + std::to_string(i)));
    if (i > 0) {
      ASSERT_TRUE(t.add_link("l" + std::to_string(i), sites[i - 1], sites[i], 0, 0.01, 0).ok());
    }
    members.push_back(*t.add_host("a" + std::to_string(i), sites[i], 0, 0));
    members.push_back(*t.add_host("b" + std::to_string(i), sites[i], 0, 0));
  }
  const Tree tree = *build_tree(t, members, sites[0]);
  ASSERT_EQ(tree.aggregators.size(), 5u);
  for (int i = 1; i < 5; ++i) {
    EXPECT_LT(tree.aggregators[i].parent, i);
    const Aggregator& parent = tree.aggregators[tree.aggregators[i].parent];
    EXPECT_EQ(parent.children[tree.aggregators[i].child_index], (Child{NodeKind::aggregator, i}));
  }
}

TEST(Segments, cross_routers_between_aggregators) {
  Star n(false);
  const Tree tree = *build_tree(n.t, n.members, n.sites[0]);
  const auto segments = segments_of(n.t, tree);
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_TRUE(segments[0].steps.empty()) << "the root's own worker";
  EXPECT_EQ(segments[1].steps.size(), 2u);
}

}  // namespace
}  // namespace l3dml::control
