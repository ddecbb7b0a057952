// The rules of DESIGN section 5 and 6, one test a row of its table, on a device programmed through its twins.
#include "dataplane/pipeline/device.h"

#include <gtest/gtest.h>

#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::pipeline::testing {
namespace {

using base::DropReason;
using wire::Type;

constexpr uint32_t kN = 1 << 20;  // RigConfig::first_number

TEST(Root, sums_and_multicasts_when_the_last_child_arrives) {
  Rig rig;
  EXPECT_TRUE(rig.send(rig.up(0, kN, 40)).empty());
  EXPECT_EQ(rig.drops(DropReason::consumed), 1u);
  const auto sent = rig.send(rig.up(1, kN, 2));
  ASSERT_EQ(sent.size(), 2u);
  for (unsigned child = 0; child < 2; ++child) {
    const Sent& s = sent[child];
    EXPECT_EQ(s.port, 1 + child);
    EXPECT_EQ(s.l3dml().type(), Type::down);
    EXPECT_EQ(s.l3dml().child, child);
    EXPECT_EQ(s.l3dml().number.load(), kN);
    EXPECT_EQ(s.l3dml().weight.load(), 2);
    EXPECT_EQ(s.l3dml().exp, 130);
    EXPECT_EQ(s.l3dml().next_exp, 128);
    EXPECT_EQ(s.l3dml().seq.load(), 0u);
    EXPECT_EQ(s.head().ipv6.dst_addr, Rig::child_address(static_cast<uint16_t>(child)));
    ASSERT_EQ(s.lane_count(), 64u);
    EXPECT_EQ(s.lane(0), 42u);
    EXPECT_EQ(s.lane(63), 42u);
  }
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Root, adds_each_child_once) {
  Rig rig({.children = 3});
  rig.send(rig.up(0, kN, 1));
  EXPECT_TRUE(rig.send(rig.up(0, kN, 1)).empty());
  EXPECT_EQ(rig.drops(DropReason::duplicate), 1u);
  rig.send(rig.up(1, kN, 1));
  const auto sent = rig.send(rig.up(2, kN, 1));
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].lane(5), 3u);
}

TEST(Root, answers_a_late_duplicate_with_the_result_to_that_child_alone) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  rig.send(rig.up(1, kN, 2));
  const auto sent = rig.send(rig.up(0, kN, 999));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, 1);
  EXPECT_EQ(sent[0].l3dml().type(), Type::down);
  EXPECT_EQ(sent[0].lane(0), 3u);
  EXPECT_EQ(sent[0].l3dml().seq.load(), 1u);  // a repair is a new packet with a new seq
}

TEST(Root, drops_stale_numbers_untouched) {
  Rig rig;
  rig.send(rig.up(0, kN + 64, 7));
  EXPECT_TRUE(rig.send(rig.up(1, kN, 1)).empty());
  EXPECT_EQ(rig.drops(DropReason::stale), 1u);
  const auto sent = rig.send(rig.up(1, kN + 64, 1));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].lane(0), 8u);
}

TEST(Root, reuses_a_slot_for_the_next_number_of_its_ring) {
  Rig rig;
  for (uint32_t round = 0; round < 3; ++round) {
    rig.send(rig.up(0, kN + 64 * round, round));
    const auto sent = rig.send(rig.up(1, kN + 64 * round, 10));
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[1].lane(0), 10 + round);
  }
}

TEST(Root, wraps_lanes_numbers_and_sequence_numbers) {
  RigConfig config;
  config.first_number = 0xffffffc0;
  Rig rig(config);
  for (uint32_t slot = 64; slot < 128; ++slot)
    rig.device->register_array("pipe.Ingress.slot_state.stamp")->write(0, slot, {0xffffffbf, 0});
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t number = 0xffffffc0 + i;
    rig.send(rig.up(0, number, 0xffffffff));
    const auto sent = rig.send(rig.up(1, number, 2));
    ASSERT_EQ(sent.size(), 2u) << i;
    EXPECT_EQ(sent[0].lane(0), 1u);
  }
  EXPECT_EQ(rig.drops(DropReason::stale), 0u);
}

TEST(Root, takes_an_up_without_lanes_first_in_between_or_last) {
  for (unsigned empty = 0; empty < 3; ++empty) {
    Rig rig({.children = 3});
    // Leave old lanes in the slot, so that zeros must really be written.
    for (unsigned c = 0; c < 3; ++c) rig.send(rig.up(c, kN, 77));
    std::vector<Sent> sent;
    for (unsigned c = 0; c < 3; ++c) {
      auto packet = c == empty ? rig.build(Type::up, c, kN + 64, {}) : rig.up(c, kN + 64, 5);
      if (c == empty) packet.l3dml().weight.set(0);
      sent = rig.send(packet);
    }
    ASSERT_EQ(sent.size(), 3u) << empty;
    EXPECT_EQ(sent[0].lane_count(), 64u);
    EXPECT_EQ(sent[0].lane(9), 10u) << empty;
    EXPECT_EQ(sent[0].l3dml().weight.load(), 2);
  }
}

TEST(Root, collects_the_largest_wish_and_marks_exponents_that_differ) {
  Rig rig;
  auto a = rig.up(0, kN, 1);
  a.l3dml().next_exp = 100;
  auto b = rig.up(1, kN, 1);
  b.l3dml().next_exp = 254;
  rig.send(a);
  EXPECT_EQ(rig.send(b)[0].l3dml().next_exp, 254);
  auto c = rig.up(0, kN + 1, 1);
  auto d = rig.up(1, kN + 1, 1);
  c.l3dml().exp = 131;
  rig.send(c);
  EXPECT_EQ(rig.send(d)[0].l3dml().next_exp, 255);
}

TEST(Root, works_with_31_children_and_256_lanes) {
  RigConfig config;
  config.children = 31, config.lanes = 256;
  Rig rig(config);
  std::vector<Sent> sent;
  for (unsigned child = 0; child < 31; ++child) sent = rig.send(rig.up(child, kN, child));
  ASSERT_EQ(sent.size(), 31u);
  EXPECT_EQ(sent[30].lane_count(), 256u);
  EXPECT_EQ(sent[30].lane(255), 465u);
  EXPECT_EQ(sent[30].l3dml().weight.load(), 31);
}

TEST(Root, with_one_child_answers_at_once) {
  Rig rig({.children = 1});
  const auto sent = rig.send(rig.up(0, kN, 6));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].lane(0), 6u);
}

TEST(Root, echoes_congestion_of_the_completing_packet) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  auto marked = rig.up(1, kN, 1);
  marked.head().ipv6.version_class_flow.set(6u << 28 | 3u << 20);
  EXPECT_TRUE(rig.send(marked)[0].l3dml().flags & wire::kFlagEce);
}

TEST(Inner, sends_its_sum_to_the_parent_with_its_own_index_and_the_parents_slot) {
  Rig rig({.inner = true});
  rig.send(rig.up(0, kN + 3, 1));
  const auto sent = rig.send(rig.up(1, kN + 3, 2));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, kParentPort);
  EXPECT_EQ(sent[0].l3dml().type(), Type::up);
  EXPECT_EQ(sent[0].l3dml().child, 5);
  EXPECT_EQ(sent[0].l3dml().slot.load(), 256 + ((kN + 3) & 127));
  EXPECT_EQ(sent[0].l3dml().flags, 0);
  EXPECT_EQ(sent[0].lane(7), 3u);
  // A duplicate finishes again: the UP may have been lost.
  const auto again = rig.send(rig.up(1, kN + 3, 2));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].l3dml().flags, wire::kFlagRetx);
  EXPECT_EQ(again[0].lane(7), 3u);
}

TEST(Inner, multicasts_the_parents_result_once_and_keeps_it) {
  Rig rig({.inner = true});
  rig.send(rig.up(0, kN, 1));
  rig.send(rig.up(1, kN, 2));
  auto sent = rig.send(rig.down(kN, 100));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].lane(0), 100u);
  EXPECT_TRUE(rig.send(rig.down(kN, 200)).empty());
  EXPECT_EQ(rig.drops(DropReason::down_repeated), 1u);
  sent = rig.send(rig.up(1, kN, 2));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].lane(0), 100u);
  // Also when the children's UPs never came here (a restarted switch), and not when a newer number is here.
  EXPECT_EQ(rig.send(rig.down(kN + 64, 5)).size(), 2u);
  EXPECT_TRUE(rig.send(rig.down(kN, 1)).empty());
}

TEST(Probe, is_answered_in_each_state) {
  Rig rig({.inner = true});
  const auto probe = [&](unsigned child, uint32_t number) {
    auto p = rig.control(Type::probe, 0, child, number);
    p.l3dml().tag.set(0xabc);
    return rig.send(p);
  };
  auto sent = probe(0, kN);  // nothing here yet
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::probe);
  EXPECT_EQ(sent[0].l3dml().flags, wire::kFlagDown);
  EXPECT_EQ(sent[0].l3dml().tag.load(), 0xabc);
  EXPECT_EQ(sent[0].l3dml().weight.load(), 0);
  rig.send(rig.up(0, kN, 1));
  EXPECT_EQ(probe(0, kN)[0].l3dml().weight.load(), 1);
  EXPECT_EQ(probe(1, kN)[0].l3dml().weight.load(), 0);
  rig.send(rig.up(1, kN, 1));
  sent = probe(1, kN);  // complete, not done: finish again and answer
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::up);
  EXPECT_EQ(sent[0].lane(0), 2u);
  EXPECT_EQ(sent[1].l3dml().weight.load(), 1);
  rig.send(rig.down(kN, 9));
  sent = probe(0, kN);  // done: the result itself
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::down);
  EXPECT_EQ(sent[0].lane(63), 9u);
  rig.send(rig.up(0, kN + 64, 1));
  EXPECT_TRUE(probe(0, kN).empty());  // newer number in the slot
  EXPECT_EQ(rig.drops(DropReason::stale), 1u);
}

TEST(Segment, nacks_a_hole_at_once_with_both_ends) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  auto p = rig.up(0, kN + 5, 1);
  p.l3dml().seq.set(5);
  const auto sent = rig.send(p);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::nack);
  EXPECT_EQ(sent[0].l3dml().flags, 0);
  EXPECT_EQ(sent[0].l3dml().seq.load(), 1u);
  EXPECT_EQ(sent[0].l3dml().number.load(), 5u);
  EXPECT_EQ(sent[0].port, 1);
  EXPECT_EQ(rig.device->counter("pipe.Ingress.segment_receiver.missing")->read(33).packets, 4u);
  auto late = rig.up(0, kN + 1, 1);  // an older seq: no hole, still summed
  late.l3dml().seq.set(2);
  EXPECT_TRUE(rig.send(late).empty());
}

TEST(Segment, repairs_results_out_of_the_slots) {
  Rig rig;
  for (uint32_t i = 0; i < 4; ++i) rig.send(rig.up(0, kN + i, i)), rig.send(rig.up(1, kN + i, 0));
  auto nack = rig.control(Type::nack, wire::kFlagDown, 1, kN);
  nack.l3dml().seq.set(1), nack.l3dml().number.set(3);
  const auto sent = rig.send(nack);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].l3dml().number.load(), kN + 1);
  EXPECT_EQ(sent[0].l3dml().seq.load(), 4u);
  EXPECT_EQ(sent[1].lane(0), 2u);
  EXPECT_EQ(sent[1].port, 2);
  EXPECT_EQ(rig.device->counter("pipe.Egress.segment_sender.repairs")->read(34).packets, 2u);
}

TEST(Segment, repairs_sums_to_the_parent_until_the_result_is_there) {
  Rig rig({.inner = true});
  rig.send(rig.up(0, kN, 1)), rig.send(rig.up(1, kN, 2));
  auto nack = rig.control(Type::nack, 0, Rig::kParent, 1);
  nack.l3dml().seq.set(0), nack.l3dml().number.set(1);
  auto sent = rig.send(nack);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::up);
  EXPECT_EQ(sent[0].l3dml().flags, wire::kFlagRetx);
  EXPECT_EQ(sent[0].lane(0), 3u);
  rig.send(rig.down(kN, 3));
  EXPECT_TRUE(rig.send(nack).empty());
  EXPECT_EQ(rig.drops(DropReason::nack_not_held), 1u);
}

TEST(Segment, ignores_forged_nacks) {
  Rig rig;
  rig.send(rig.up(0, kN, 1)), rig.send(rig.up(1, kN, 1));
  auto nack = rig.control(Type::nack, wire::kFlagDown, 0, kN);
  const auto range = [&](uint32_t first, uint32_t end) {
    nack.l3dml().seq.set(first), nack.l3dml().number.set(end);
    return rig.send(nack).size();
  };
  EXPECT_EQ(range(0, 0), 0u);
  EXPECT_EQ(range(1, 2), 0u);           // never sent
  EXPECT_EQ(range(5, 3), 0u);           // backwards
  EXPECT_EQ(range(0x80000000, 1), 0u);  // nonsense
  EXPECT_EQ(rig.drops(DropReason::nack_empty), 4u);
  // Its ends lie on both sides of half the number space: must not be walked through.
  EXPECT_EQ(range(1 - 0xa0000000u, 1 - 0x40000000u), 0u);
  EXPECT_EQ(rig.drops(DropReason::nack_empty), 5u);
  EXPECT_EQ(range(0u - 1000, 1), 1u);  // enormous: clipped to the one packet that was sent
  size_t repairs = 0;
  for (int i = 0; i < 1000; ++i) {  // always the last packet sent, which the ring still knows
    const auto next = static_cast<uint32_t>(
        rig.device->register_array("pipe.Egress.segment_sender.tx_seq")->read(0, 33)[0]);
    repairs += range(next - 1, next);
  }
  EXPECT_LE(repairs, 64u);
  EXPECT_GT(rig.drops(DropReason::nack_limited), 0u);
}

TEST(Segment, falls_quiet_with_a_few_syncs) {
  Rig rig;
  rig.send(rig.up(0, kN, 1)), rig.send(rig.up(1, kN, 1));
  EXPECT_EQ(rig.device->pipe(0).next_deadline_ns(), 200'000);
  EXPECT_TRUE(rig.tick(100'000).empty());
  auto sent = rig.tick(200'000);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::sync);
  EXPECT_EQ(sent[0].l3dml().flags, wire::kFlagDown);
  EXPECT_EQ(sent[0].l3dml().seq.load(), 1u);
  int64_t now = 200'000;
  size_t syncs = 0;
  while (rig.device->pipe(0).next_deadline_ns() != base::kNever) {
    now = rig.device->pipe(0).next_deadline_ns();
    syncs += rig.tick(now).size();
    ASSERT_LT(now, base::kSecond);
  }
  EXPECT_EQ(syncs, 4u);
}

TEST(Segment, sync_shows_the_missing_tail) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  auto sync = rig.control(Type::sync, 0, 0, 0);
  sync.l3dml().seq.set(1);
  EXPECT_TRUE(rig.send(sync).empty());
  EXPECT_EQ(rig.drops(DropReason::sync_in_order), 1u);
  sync.l3dml().seq.set(4);
  const auto sent = rig.send(sync);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::nack);
  EXPECT_EQ(sent[0].l3dml().seq.load(), 1u);
  EXPECT_EQ(sent[0].l3dml().number.load(), 4u);
  EXPECT_TRUE(rig.send(sync).empty());  // a storm of the same makes nothing more
}

struct BadCase {
  const char* name;
  DropReason reason;
  void (*spoil)(Rig::Build&);
};

class BadInput : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadInput, is_dropped_by_name_and_touches_nothing) {
  Rig rig;
  auto packet = rig.up(0, kN, 1);
  GetParam().spoil(packet);
  EXPECT_TRUE(rig.send(packet).empty());
  EXPECT_EQ(rig.drops(GetParam().reason), 1u) << base::drop_reason_text(GetParam().reason);
  EXPECT_EQ(rig.device->register_array("pipe.Ingress.slot_state.stamp")->read(0, 64)[0], 0u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

const BadCase kBadCases[] = {
    {"short_frame", DropReason::truncated, [](Rig::Build& b) { b.frame.resize(10); }},
    {"short_ipv6", DropReason::truncated, [](Rig::Build& b) { b.frame.resize(40); }},
    {"ipv6_longer_than_frame", DropReason::truncated,
     [](Rig::Build& b) { b.frame.resize(b.frame.size() - 4); }},
    {"ipv6_version", DropReason::bad_ipv6_header,
     [](Rig::Build& b) { b.head().ipv6.version_class_flow.set(5u << 28); }},
    {"udp_length", DropReason::bad_udp_length, [](Rig::Build& b) { b.head().udp.length.set(40); }},
    {"tcp_to_aggregation", DropReason::not_l3dml, [](Rig::Build& b) { b.head().ipv6.next_header = 6; }},
    {"fragment", DropReason::fragment, [](Rig::Build& b) { b.head().ipv6.next_header = 44; }},
    {"other_udp_port", DropReason::not_l3dml, [](Rig::Build& b) { b.head().udp.dst_port.set(9); }},
    {"version", DropReason::unknown_version, [](Rig::Build& b) { b.l3dml().version_type = 0x21; }},
    {"type", DropReason::unknown_type, [](Rig::Build& b) { b.l3dml().version_type = 0x1f; }},
    {"type_zero", DropReason::unknown_type, [](Rig::Build& b) { b.l3dml().version_type = 0x10; }},
    {"flag", DropReason::unknown_flag, [](Rig::Build& b) { b.l3dml().flags = 0x40; }},
    {"down_flag_on_up", DropReason::unknown_flag, [](Rig::Build& b) { b.l3dml().flags = wire::kFlagDown; }},
    {"recirculated", DropReason::recirculated_type,
     [](Rig::Build& b) { b.l3dml().set_type(Type::recirculated); }},
    {"job_unlike_address", DropReason::address_mismatch, [](Rig::Build& b) { b.l3dml().job.set(8); }},
    {"child_unlike_address", DropReason::address_mismatch, [](Rig::Build& b) { b.l3dml().child = 1; }},
    {"job", DropReason::unknown_job,
     [](Rig::Build& b) {
       b.l3dml().job.set(8),
           b.head().ipv6.dst_addr = wire::aggregation_address(kPrefix, kOwnLocator, 0, 8, 0);
     }},
    {"epoch", DropReason::wrong_epoch, [](Rig::Build& b) { b.l3dml().epoch = 2; }},
    {"child", DropReason::wrong_child,
     [](Rig::Build& b) {
       b.l3dml().child = 9, b.head().ipv6.dst_addr = wire::aggregation_address(kPrefix, kOwnLocator, 0, 7, 9);
     }},
    {"source", DropReason::wrong_source,
     [](Rig::Build& b) { b.head().ipv6.src_addr = Rig::child_address(1); }},
    {"port", DropReason::wrong_source, [](Rig::Build& b) { b.port = 2; }},
    {"slot_out_of_range", DropReason::wrong_slot, [](Rig::Build& b) { b.l3dml().slot.set(5000); }},
    {"slot_of_another_number", DropReason::wrong_shard, [](Rig::Build& b) { b.l3dml().slot.set(65); }},
    {"shard", DropReason::wrong_shard, [](Rig::Build& b) { b.head().udp.dst_port.set(base::kUdpPort + 1); }},
    {"mac", DropReason::foreign_mac, [](Rig::Build& b) { b.head().ethernet.dst_addr = {2, 9, 9, 9, 9, 9}; }},
    {"ethertype", DropReason::unsupported_ethertype,
     [](Rig::Build& b) { b.head().ethernet.ether_type.set(0x88cc); }},
    {"lanes", DropReason::bad_lane_count,
     [](Rig::Build& b) {
       b.frame.resize(b.frame.size() - 128);
       const auto length = static_cast<uint16_t>(b.frame.size() - wire::kEthernetSize - wire::kIpv6Size);
       b.head().ipv6.payload_length.set(length), b.head().udp.length.set(length);
     }},
    {"no_route", DropReason::no_route,
     [](Rig::Build& b) { b.head().ipv6.dst_addr = wire::host_address(1, 1, 1); }},
};
INSTANTIATE_TEST_SUITE_P(All, BadInput, ::testing::ValuesIn(kBadCases),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace l3dml::pipeline::testing
