#include "control/jobs/compiler.h"

#include <algorithm>
#include <map>
#include <set>

#include "control/jobs/program.h"
#include "control/jobs/testing.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

using testing::TwoSites;

// What the switch's ternary table would say, from the entries alone.
struct Packet {
  uint64_t type, flags, job, epoch, child, src_locator, src_host, slot, port;
};

std::string lookup(const DeviceEntries& device, const Packet& p) {
  const std::map<std::string, uint64_t> fields{
      {"hdr.l3dml.type", p.type},   {"hdr.l3dml.flags", p.flags}, {"hdr.l3dml.job", p.job},
      {"hdr.l3dml.epoch", p.epoch}, {"hdr.l3dml.child", p.child}, {"src_locator", p.src_locator},
      {"src_host", p.src_host},     {"hdr.l3dml.slot", p.slot},   {"ig_intr_md.ingress_port", p.port}};
  const auto number = [](const Bytes& b) {
    uint64_t v = 0;
    for (const char c : b) v = v << 8 | static_cast<uint8_t>(c);
    return v;
  };
  const Entry* best = nullptr;
  uint64_t best_priority = ~0ull;
  for (const Entry& e : device.entries) {
    if (e.key.table != "pipe.Ingress.admission.admission") continue;
    uint64_t priority = 0;
    bool hit = true;
    for (const Match& m : e.key.matches) {
      if (m.field == "$MATCH_PRIORITY")
        priority = number(m.value);
      else
        hit &= (fields.at(m.field) & number(m.mask)) == number(m.value);
    }
    if (hit && priority < best_priority) {
      best = &e;
      best_priority = priority;
    }
  }
  if (best == nullptr) return "unknown_job";
  if (best->data.action == "Ingress.admission.admit") return "admit";
  switch (static_cast<Reject>(number(best->data.params[0].second))) {
    case Reject::unknown_job:
      return "unknown_job";
    case Reject::wrong_epoch:
      return "wrong_epoch";
    case Reject::wrong_child:
      return "wrong_child";
    case Reject::wrong_source:
      return "wrong_source";
    case Reject::wrong_slot:
      return "wrong_slot";
  }
  return "?";
}

struct Compiled {
  TwoSites n;
  std::vector<DeviceResources> devices{n.t.sites().size(), DeviceResources(Capability{})};
  JobPlan plan;
  std::vector<DeviceEntries> out;
  Compiled() {
    JobRequest r;
    r.members = n.members;
    r.stripes = {{n.west, 1, {}}};
    r.first_job = 7;
    plan = *plan_job(n.t, r, &devices);
    out = compile_job(n.t, plan);
  }
};

constexpr uint64_t kUp = 1, kDownType = 2, kNack = 3, kSync = 4, kProbe = 6, kSwitch = 0xfffe0000;

TEST(Admission, admits_each_child_from_its_place_and_names_what_is_wrong_otherwise) {
  Compiled c;
  const DeviceEntries& west = c.out[c.n.west];
  const Packet up{kUp, 0, 7, 1, 0, 0x0101, 1, 5, 2};  // w0 sits at port 2, after the WAN link
  EXPECT_EQ(lookup(west, up), "admit");
  const auto with = [&](auto change) {
    Packet p = up;
    change(p);
    return lookup(west, p);
  };
  EXPECT_EQ(with([](Packet& p) { p.flags = 1 | 8; }), "admit") << "RETX and ECE do not matter";
  EXPECT_EQ(with([](Packet& p) { p.type = kProbe; }), "admit");
  EXPECT_EQ(with([](Packet& p) { p.type = kNack, p.flags = 4, p.slot = 99999; }), "admit");
  EXPECT_EQ(with([](Packet& p) { p.type = kSync, p.slot = 0; }), "admit");
  EXPECT_EQ(with([](Packet& p) { p.type = kSync, p.flags = 4; }), "wrong_child") << "only a parent says this";
  EXPECT_EQ(with([](Packet& p) { p.type = kDownType; }), "wrong_child");
  EXPECT_EQ(with([&](Packet& p) { p.slot = c.plan.stripes[0].ring; }), "wrong_slot");
  EXPECT_EQ(with([](Packet& p) { p.src_host = 2; }), "wrong_source");
  EXPECT_EQ(with([](Packet& p) { p.port = 3; }), "wrong_source") << "an edge port accepts only its own";
  EXPECT_EQ(with([](Packet& p) { p.child = 3; }), "wrong_child");
  EXPECT_EQ(with([](Packet& p) { p.epoch = 2; }), "wrong_epoch");
  EXPECT_EQ(with([](Packet& p) { p.job = 8; }), "unknown_job");
}

TEST(Admission, admits_parent_and_inner_child_by_their_aggregation_address) {
  Compiled c;
  EXPECT_EQ(lookup(c.out[c.n.west], {kUp, 0, 7, 1, 2, 0x0102, kSwitch, 0, 1}), "admit");
  EXPECT_EQ(lookup(c.out[c.n.west], {kUp, 0, 7, 1, 2, 0x0102, 1, 0, 1}), "wrong_source");
  const DeviceEntries& east = c.out[c.n.east];
  EXPECT_EQ(lookup(east, {kDownType, 0, 7, 1, 2, 0x0101, kSwitch, 0, 1}), "admit");
  EXPECT_EQ(lookup(east, {kSync, 4, 7, 1, 2, 0x0101, kSwitch, 0, 1}), "admit");
  EXPECT_EQ(lookup(east, {kNack, 0, 7, 1, 2, 0x0101, kSwitch, 0, 1}), "admit");
  EXPECT_EQ(lookup(east, {kNack, 4, 7, 1, 2, 0x0101, kSwitch, 0, 1}), "wrong_child");
  EXPECT_EQ(lookup(east, {kDownType, 0, 7, 1, 2, 0x0101, kSwitch, 1u << 20, 1}), "wrong_slot");
}

TEST(Compiler, answers_leave_by_the_port_towards_the_neighbour) {
  Compiled c;
  const auto port_of = [&](SiteId site, uint16_t src_locator, uint32_t src_host) {
    std::set<Bytes> ports;
    for (const Entry& e : c.out[site].entries) {
      if (e.data.action != "Ingress.admission.admit") continue;
      const auto has = [&](const char* field, const Bytes& value) {
        return std::any_of(e.key.matches.begin(), e.key.matches.end(),
                           [&](const Match& m) { return m.field == field && m.value == value; });
      };
      if (!has("src_locator", be(src_locator, 16)) || !has("src_host", be(src_host, 32))) continue;
      for (const auto& [name, value] : e.data.params)
        if (name == "neighbor_port") ports.insert(value);
    }
    return ports;
  };
  EXPECT_EQ(port_of(c.n.west, 0x0101, 1), std::set<Bytes>{be(2, 9)}) << "w0's own port";
  EXPECT_EQ(port_of(c.n.west, 0x0102, kSwitch), std::set<Bytes>{be(1, 9)}) << "an inner child, over the WAN";
  EXPECT_EQ(port_of(c.n.east, 0x0101, kSwitch), std::set<Bytes>{be(1, 9)}) << "the parent";
}

TEST(Compiler, keys_are_unique_and_every_replica_has_its_entry) {
  Compiled c;
  for (const DeviceEntries& device : c.out) {
    std::vector<EntryKey> keys;
    for (const Entry& e : device.entries) keys.push_back(e.key);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
    ASSERT_EQ(device.groups.size(), 1u);
    for (const Replica& replica : device.groups[0].replicas) {
      const bool found = std::any_of(device.entries.begin(), device.entries.end(), [&](const Entry& e) {
        return e.key.table == "pipe.Egress.replica.replica" && e.key.matches[0].value == be(replica.rid, 16);
      });
      EXPECT_TRUE(found) << replica.rid;
    }
  }
  EXPECT_EQ(c.out[c.n.west].groups[0].replicas.size(), 3u);
  EXPECT_EQ(neighbors_of(c.n.t, c.plan)[c.n.east].size(), 3u) << "two workers and the parent";
}

TEST(Compiler, addresses_say_where_to_sum) {
  Compiled c;
  EXPECT_EQ(text(member_destination(c.n.t, c.plan.stripes[0], 3)), "fd4c:3344:4d4c:102:100:7:1:0");
  const auto to = [&](SiteId site, const char* dst) {
    return std::any_of(c.out[site].entries.begin(), c.out[site].entries.end(), [&](const Entry& e) {
      return e.key.table == "pipe.Egress.replica.replica" && text(e).find(dst) != std::string::npos;
    });
  };
  EXPECT_TRUE(to(c.n.east, "dst_addr=0xfd4c33444d4c01010100000700020000")) << "up: child 2 of west";
  EXPECT_TRUE(to(c.n.west, "dst_addr=0xfd4c33444d4c010201000007ffff0000"))
      << "down: east as the parent's child";
  EXPECT_TRUE(to(c.n.west, "dst_addr=0xfd4c33444d4c01010000000000000001")) << "down: worker w0";
}

TEST(Compiler, same_plan_compiles_to_the_same_list) {
  Compiled a, b;
  for (size_t i = 0; i < a.out.size(); ++i) EXPECT_TRUE(diff(a.out[i], b.out[i]).empty());
}

}  // namespace
}  // namespace l3dml::control
