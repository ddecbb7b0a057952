#include "control/install/install.h"

#include <fstream>
#include <iterator>

#include "control/jobs/compiler.h"
#include "control/jobs/testing.h"
#include "control/routing/routes.h"
#include "control/target/fake_target.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

std::unique_ptr<target::FakeTarget> fake() {
  std::ifstream in(L3DML_BF_RT);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  auto target = target::FakeTarget::create("l3dml", json);
  EXPECT_TRUE(target.ok()) << target.status();
  return *std::move(target);
}

struct Planned {
  testing::TwoSites n;
  std::vector<DeviceResources> devices{n.t.sites().size(), DeviceResources(Capability{})};
  JobPlan plan;
  DeviceEntries wanted;
  Planned() {
    JobRequest r;
    r.members = n.members;
    r.stripes = {{n.west, 1, {}}};
    plan = *plan_job(n.t, r, &devices);
    wanted = baseline_routes(n.t)[n.west];
    wanted.append(compile_job(n.t, plan)[n.west]);
  }
};

TEST(Reconcile, makes_a_device_hold_exactly_what_is_wanted) {
  Planned p;
  auto device = fake();
  const auto first = reconcile(*device, p.wanted);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, p.wanted.entries.size() + p.wanted.groups.size());
  const auto again = reconcile(*device, p.wanted);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, 0u) << "nothing differs";
  EXPECT_TRUE(diff(*read_installed(*device), p.wanted).empty());
}

TEST(Reconcile, repairs_what_somebody_changed) {
  Planned p;
  auto device = fake();
  ASSERT_TRUE(reconcile(*device, p.wanted).ok());
  DeviceEntries less = p.wanted;
  less.entries.pop_back();
  less.groups.clear();
  less.entries.erase(less.entries.begin());
  ASSERT_TRUE(reconcile(*device, less).ok());
  EXPECT_TRUE(diff(*read_installed(*device), less).empty());
  ASSERT_TRUE(reconcile(*device, p.wanted).ok());
  EXPECT_TRUE(diff(*read_installed(*device), p.wanted).empty());
}

TEST(Reconcile, changes_the_members_of_a_group) {
  Planned p;
  auto device = fake();
  ASSERT_TRUE(reconcile(*device, p.wanted).ok());
  p.wanted.groups[0].replicas.pop_back();
  const auto writes = reconcile(*device, p.wanted);
  ASSERT_TRUE(writes.ok()) << writes.status();
  EXPECT_EQ(*writes, 1u);
  EXPECT_EQ(read_installed(*device)->groups[0].replicas.size(), p.wanted.groups[0].replicas.size());
}

TEST(Apply, removes_admission_before_and_installs_it_after_everything_else) {
  Planned p;
  auto device = fake();
  ASSERT_TRUE(reconcile(*device, p.wanted).ok());
  const auto is_admission = [](const target::Update& u) {
    return u.table == "pipe.Ingress.admission.admission";
  };
  const auto added = device->log();
  EXPECT_TRUE(is_admission(added.back()));
  bool seen = false;
  for (const auto& u : added) {
    seen |= is_admission(u);
    EXPECT_EQ(seen, is_admission(u)) << "after the first admission entry only such";
  }
  device->clear_log();
  ASSERT_TRUE(reconcile(*device, {}).ok());
  EXPECT_TRUE(is_admission(device->log().front()));
}

TEST(Apply, says_what_the_device_said) {
  Planned p;
  auto device = fake();
  device->fail_next_write(absl::ResourceExhaustedError("table is full"));
  EXPECT_EQ(reconcile(*device, p.wanted).status().message(), "table is full");
}

TEST(Capability, is_what_the_schema_says) {
  auto device = fake();
  const auto c = read_capability(*device);
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->slots, 16384u);
  EXPECT_EQ(c->neighbors, 1024u);
  EXPECT_EQ(c->seq_entries, 65536u);
  EXPECT_EQ(c->jobs, 1024u);
  EXPECT_EQ(c->lanes, 64u) << "those of the program as a chip runs it";
  EXPECT_EQ(c->pipes, 1u);
}

TEST(ZeroSegments, writes_both_counters_of_each) {
  auto device = fake();
  const uint16_t neighbors[] = {3, 5};
  ASSERT_TRUE(zero_segments(*device, neighbors).ok());
  EXPECT_EQ(device->log().size(), 4u);
}

}  // namespace
}  // namespace l3dml::control
