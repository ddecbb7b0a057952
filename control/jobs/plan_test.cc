#include "control/jobs/plan.h"

#include <bit>

#include "control/jobs/testing.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

using testing::Star;
using testing::TwoSites;

std::vector<DeviceResources> devices(const Topology& t, Capability c = {}) {
  return std::vector<DeviceResources>(t.sites().size(), DeviceResources(c));
}

JobRequest request(const std::vector<HostId>& members, const std::vector<SiteId>& roots) {
  JobRequest r;
  r.members = members;
  for (const SiteId root : roots) r.stripes.push_back({root, 1, {}});
  return r;
}

TEST(Plan, window_covers_rate_times_round_trip) {
  TwoSites n;
  auto d = devices(n.t);
  const JobPlan plan = *plan_job(n.t, request(n.members, {n.west}), &d);
  const StripePlan& s = plan.stripes[0];
  EXPECT_NEAR(plan.rate_bps, 95e6 * 0.999, 1);
  EXPECT_NEAR(s.rtt_s, 0.052, 1e-9);
  EXPECT_TRUE(std::has_single_bit(s.window));
  EXPECT_GE(s.window * double(packet_bits(256)), plan.rate_bps * s.rtt_s);
  EXPECT_GE(s.ring * s.shards, 2 * s.window);
  EXPECT_GE(plan.look_ahead, s.window);
  EXPECT_EQ(s.first_number, s.ring);
  EXPECT_NE(plan.limit.find("link wan"), std::string::npos) << plan.limit;
}

TEST(Plan, stripes_share_the_links_of_equal_sites) {
  Star n(false);
  auto d1 = devices(n.t), d4 = devices(n.t);
  const JobPlan one = *plan_job(n.t, request(n.members, {n.sites[0]}), &d1);
  const JobPlan four = *plan_job(n.t, request(n.members, n.sites), &d4);
  // One root: its access link carries the tensor three times. A root per site: every link carries 2 * 3/4 of
  // it.
  EXPECT_NEAR(four.goodput_bps / one.goodput_bps, 2.0, 0.01);
  Star hub(true);
  auto dh = devices(hub.t);
  const JobPlan at_hub = *plan_job(hub.t, request(hub.members, {hub.hub}), &dh);
  EXPECT_NEAR(at_hub.goodput_bps / one.goodput_bps, 3.0, 0.01) << "the hub's links carry it once";
}

TEST(Plan, shrinks_the_window_to_the_slots_there_are_and_says_so) {
  TwoSites n;
  Capability small;
  small.slots = 512;
  auto d = devices(n.t, small);
  const JobPlan plan = *plan_job(n.t, request(n.members, {n.west}), &d);
  EXPECT_EQ(plan.stripes[0].window, 256u);
  EXPECT_NEAR(plan.rate_bps, 256 * packet_bits(256) / 0.052, 1);
  EXPECT_NE(plan.limit.find("slots"), std::string::npos) << plan.limit;
  EXPECT_FALSE(plan_job(n.t, request(n.members, {n.west}), &d).ok()) << "nothing is left";
}

TEST(Plan, refuses_what_a_device_cannot_hold) {
  TwoSites n;
  Capability chip;
  chip.lanes = 64;
  auto d = devices(n.t, chip);
  const absl::Status s = plan_job(n.t, request(n.members, {n.west}), &d).status();
  EXPECT_NE(s.message().find("lower lanes to 64"), std::string::npos) << s;
  JobRequest odd = request(n.members, {n.west});
  odd.sizing.lanes = 100;
  EXPECT_EQ(plan_job(n.t, odd, &d).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Plan, gives_back_everything) {
  TwoSites n;
  auto d = devices(n.t);
  const JobPlan plan = *plan_job(n.t, request(n.members, {n.west, n.east}), &d);
  EXPECT_LT(d[0].slots.free_count(), 16384u);
  release_job(plan, &d);
  for (const DeviceResources& device : d) {
    EXPECT_EQ(device.slots.largest_free(), 16384u);
    EXPECT_EQ(device.seq_entries.largest_free(), 262144u);
    EXPECT_EQ(device.neighbors.left(), 1023u);
    EXPECT_EQ(device.jobs.left(), 255u);
  }
}

TEST(Plan, takes_again_exactly_what_it_had) {
  TwoSites n;
  auto d = devices(n.t), again = devices(n.t);
  const JobPlan first = *plan_job(n.t, request(n.members, {n.west}), &d);
  const JobPlan second = *plan_job(n.t, request(n.members, {n.east}), &d);
  EXPECT_TRUE(reserve_job(second, &again)) << "in any order";
  EXPECT_TRUE(reserve_job(first, &again));
  EXPECT_FALSE(reserve_job(first, &again)) << "not twice";
  EXPECT_EQ(again[0].slots.free_count(), d[0].slots.free_count());
  EXPECT_EQ(again[0].neighbors.left(), d[0].neighbors.left());
}

TEST(Plan, takes_nothing_on_error) {
  TwoSites n;
  auto d = devices(n.t);
  n.t.set_link_up(n.wan, false);
  EXPECT_FALSE(plan_job(n.t, request(n.members, {n.west}), &d).ok());
  EXPECT_EQ(d[0].slots.free_count(), 16384u);
}

TEST(Plan, ranks_of_one_host_are_children_of_their_own) {
  TwoSites n;
  auto d = devices(n.t);
  const JobPlan plan = *plan_job(n.t, request({n.w0, n.w0, n.e0}, {n.west}), &d);
  EXPECT_NE(plan.stripes[0].members[0].child, plan.stripes[0].members[1].child);
  EXPECT_EQ(plan.udp_ports, (std::vector<uint16_t>{19600, 19601, 19600}));
}

}  // namespace
}  // namespace l3dml::control
