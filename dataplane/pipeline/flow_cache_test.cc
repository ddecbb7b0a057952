// The short way of known flows and the way through the tables must be one behaviour: a traced packet always
// takes the latter, so the same packets are sent to a device that traces and to one that does not.
#include "dataplane/pipeline/flow_cache.h"

#include <random>

#include <gtest/gtest.h>

#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::pipeline::testing {
namespace {

using base::DropReason;
using wire::Type;

constexpr uint32_t kN = 1 << 20;
constexpr char kAdmission[] = "pipe.Ingress.admission.admission", kHosts[] = "pipe.Ingress.forwarder.host6";

class Quiet final : public base::TraceSink {
 public:
  void line(uint64_t, std::string_view, const std::string&) override { ++lines; }
  uint64_t lines = 0;
};

std::array<uint64_t, base::kDropReasons> all_drops(const Rig& rig) {
  std::array<uint64_t, base::kDropReasons> drops{};
  for (size_t i = 0; i < drops.size(); ++i) drops[i] = rig.drops(static_cast<DropReason>(i));
  return drops;
}

std::vector<std::array<uint64_t, 2>> cells(Rig& rig, const char* name) {
  std::vector<std::array<uint64_t, 2>> values;
  tna::RegisterTwin* array = rig.device->register_array(name);
  for (uint32_t i = 0; i < array->size(); ++i) values.push_back(array->read(0, i));
  return values;
}

// Of all entries of a table, by handle.
std::vector<std::pair<uint64_t, uint64_t>> counters(Rig& rig, const char* table) {
  std::vector<std::pair<uint64_t, uint64_t>> values;
  for (tna::Handle handle = 1; handle < 100; ++handle) {
    const tna::CounterValue value = rig.device->table(table)->counter(handle);
    values.emplace_back(value.packets, value.bytes);
  }
  return values;
}

TEST(FlowCache, changes_nothing_for_any_packet) {
  for (const bool inner : {false, true}) {
    const RigConfig config = {.children = 3, .inner = inner};
    Rig fast(config), slow(config);
    Quiet quiet;
    slow.device->set_trace(&quiet, {});
    std::mt19937 random(inner ? 5 : 4);
    const auto chance = [&](unsigned in) { return random() % in == 0; };
    for (int i = 0; i < 20'000; ++i) {
      const uint32_t number = kN + static_cast<uint32_t>(i / 12) + random() % 3 * 16;
      const unsigned child = inner && chance(5) ? Rig::kParent : random() % 3;
      const Type type = child == Rig::kParent ? Type::down : Type::up;
      Rig::Build packet = fast.build(type, child, number, std::vector<uint32_t>(64, random()));
      (void)slow.build(type, child, number, {});  // both number their segments alike
      if (chance(4)) {                            // any byte of the head, any bit
        packet.frame[random() % wire::kHeadSize] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      if (chance(40)) packet.frame.resize(random() % packet.frame.size());
      if (chance(40)) packet.frame.resize(packet.frame.size() + 4);
      if (chance(40)) packet.port = static_cast<uint16_t>(random() % 12);
      if (chance(500)) {  // what was known must be forgotten
        tna::Entry route;
        route.key = {Rig::exact(Rig::bytes(wire::aggregation_address(kPrefix, kOwnLocator, 0, 7, 40)))};
        route.action = "Ingress.forwarder.aggregate";
        (void)fast.insert(kHosts, route), (void)slow.insert(kHosts, route);
      }
      const auto a = fast.send(packet), b = slow.send(packet);
      ASSERT_EQ(a.size(), b.size()) << i;
      for (size_t k = 0; k < a.size(); ++k) {
        EXPECT_EQ(a[k].port, b[k].port) << i;
        ASSERT_EQ(a[k].frame, b[k].frame) << i;
      }
    }
    EXPECT_EQ(all_drops(fast), all_drops(slow));
    for (const char* name :
         {"pipe.Ingress.slot_state.stamp", "pipe.Ingress.slot_state.bitmap", "pipe.Ingress.slot_state.count",
          "pipe.Ingress.aggregator.weight", "pipe.Ingress.exponent.exps", "pipe.Ingress.aggregator.lanes00",
          "pipe.Ingress.aggregator.lanes31", "pipe.Ingress.segment_receiver.expected",
          "pipe.Egress.segment_sender.tx_seq", "pipe.Egress.segment_sender.ring"})
      EXPECT_EQ(cells(fast, name), cells(slow, name)) << name;
    EXPECT_EQ(counters(fast, kAdmission), counters(slow, kAdmission));
    EXPECT_EQ(counters(fast, kHosts), counters(slow, kHosts));
    EXPECT_EQ(fast.pool.alive(), 0u);
    EXPECT_GT(quiet.lines, 10'000u);
  }
}

// In order and whole, with strangers in between: what express() and refuse_stranger() are for. Bursts of
// several packets, one child or three, so that results, restarts and sums of all kinds follow each other.
TEST(FlowCache, plain_gradients_and_strangers_are_what_the_blocks_make_of_them) {
  for (const unsigned children : {1u, 3u}) {
    const RigConfig config = {.children = children};
    Rig fast(config), slow(config);
    Quiet quiet;
    slow.device->set_trace(&quiet, {});
    std::mt19937 random(children);
    for (uint32_t i = 0; i < 6000; ++i) {
      const unsigned child = i % children;
      Rig::Build packet = fast.build(Type::up, child, kN + i / children, std::vector<uint32_t>(64, random()));
      (void)slow.build(Type::up, child, 0, {});
      packet.l3dml().exp = random() % 20 ? 130 : 131;
      packet.l3dml().next_exp = static_cast<uint8_t>(random());
      packet.l3dml().weight.set(static_cast<uint16_t>(random() % 4));
      if (random() % 50 == 0) packet.l3dml().flags = wire::kFlagEce;
      if (random() % 50 == 0) packet.head().ipv6.version_class_flow.set(6u << 28 | 3u << 20);
      for (int stranger = static_cast<int>(random() % 3); stranger >= 0; --stranger) {
        if (stranger > 0) {
          Rig::Build other = packet;
          const auto job = static_cast<uint16_t>(random() % 4 ? random() : 7);
          const auto at = static_cast<uint16_t>(random() % 8 ? other.l3dml().child : 9);
          other.head().ipv6.dst_addr = wire::aggregation_address(kPrefix, kOwnLocator, 0, job, at);
          if (random() % 8) other.l3dml().job.set(job);
          if (random() % 8 == 0) other.frame[62 + random() % 6] ^= 0x40;
          if (job == 7 && other.l3dml().job.load() == 7) continue;  // would be the gradient itself
          const auto a = fast.send(other), b = slow.send(other);
          EXPECT_EQ(a.size(), b.size());
          continue;
        }
        const auto a = fast.send(packet), b = slow.send(packet);
        ASSERT_EQ(a.size(), b.size()) << i;
        EXPECT_EQ(a.size(), child + 1 == children ? children : 0u);
        for (size_t k = 0; k < a.size(); ++k) {
          EXPECT_EQ(a[k].port, b[k].port) << i;
          ASSERT_EQ(a[k].frame, b[k].frame) << i;
        }
      }
    }
    EXPECT_EQ(all_drops(fast), all_drops(slow));
    EXPECT_GT(fast.drops(DropReason::unknown_job), 1000u);
    EXPECT_EQ(counters(fast, kAdmission), counters(slow, kAdmission));
    EXPECT_EQ(counters(fast, kHosts), counters(slow, kHosts));
    EXPECT_EQ(counters(fast, "pipe.Ingress.forwarder.prefix6"),
              counters(slow, "pipe.Ingress.forwarder.prefix6"));
    for (const char* name : {"pipe.Ingress.slot_state.bitmap", "pipe.Ingress.exponent.exps",
                             "pipe.Ingress.aggregator.weight", "pipe.Egress.segment_sender.tx_seq"})
      EXPECT_EQ(cells(fast, name), cells(slow, name)) << name;
    EXPECT_EQ(fast.pool.alive(), 0u);
  }
}

TEST(FlowCache, a_job_that_is_added_is_no_stranger_any_more) {
  Rig rig({.device_neighbors = 128});
  RigConfig other = rig.c;
  other.job = 0x1234;
  other.slot_base = 128;
  Rig::Build packet = rig.up(0, kN, 1);
  packet.l3dml().job.set(other.job);
  packet.head().ipv6.dst_addr = wire::aggregation_address(kPrefix, kOwnLocator, 0, other.job, 0);
  packet.l3dml().slot.set(128 + (kN & 63));
  packet.l3dml().seq.set(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rig.send(packet).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_job), 3u);
  rig.add_job(other.job, 2, other);
  EXPECT_TRUE(rig.send(packet).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_job), 3u);
  EXPECT_EQ(rig.drops(DropReason::consumed), 1u);
}

TEST(FlowCache, forgets_a_flow_whose_entry_is_removed) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  rig.send(rig.up(0, kN + 1, 1));  // known by now
  for (tna::Handle handle = 1; handle < 60; ++handle) rig.device->table(kAdmission)->remove(handle);
  EXPECT_TRUE(rig.send(rig.up(0, kN + 2, 1)).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_job), 1u);
}

Flow flow(uint64_t name, const blocks::Admission::Row* admission, const blocks::Forwarder::Row6* route) {
  Flow f;
  f.key.words[5] = name;
  f.admission = admission;
  f.route = route;
  f.job.lanes = 64;
  return f;
}

TEST(FlowCache, keeps_counts_when_flows_push_each_other_out) {
  blocks::Admission::Row admission;
  blocks::Forwarder::Row6 route;
  FlowCache cache(1, 2);
  uint64_t seen = 0;
  for (uint64_t name = 1; name <= 1000; ++name) {  // far more than there are places
    cache.insert(flow(name, &admission, &route));
    FlowKey key{};
    key.words[5] = name;
    if (Flow* found = cache.find(key)) ++found->packets, ++seen;
  }
  cache.flush();
  EXPECT_EQ(seen, 1000u);
  EXPECT_EQ(admission.counts[2].packets, seen);
  EXPECT_EQ(admission.counts[2].bytes, seen * (wire::kHeadSize + 256));
  EXPECT_EQ(route.counts[2].packets, seen);
  FlowKey key{};
  key.words[5] = 1000;
  EXPECT_EQ(cache.find(key), nullptr);
}

}  // namespace
}  // namespace l3dml::pipeline::testing
