// Traffic manager, multicast, mirror sessions, packet generator, and the small things around them.
#include <map>

#include "dataplane/tna/counter.h"
#include "dataplane/tna/digest.h"
#include "dataplane/tna/meter.h"
#include "dataplane/tna/mirror.h"
#include "dataplane/tna/packet_generator.h"
#include "dataplane/tna/port_metadata.h"
#include "dataplane/tna/traffic_manager.h"
#include "gtest/gtest.h"

namespace l3dml::tna {
namespace {

constexpr uint16_t kCpu = 64;

class Forwarding : public testing::Test {
 protected:
  struct Copy {
    TmCopy::Kind kind;
    uint16_t port, rid;
    bool first;
    bool operator==(const Copy&) const = default;
  };
  std::vector<Copy> forward(bool resubmitted = false) {
    std::vector<Copy> copies;
    again_ = manager_.forward(tm_, deparser_, resubmitted, [&](const TmCopy& c) {
      copies.push_back({c.kind, c.egress.egress_port, c.egress.egress_rid, c.egress.egress_rid_first});
    });
    return copies;
  }
  static constexpr auto kUnicast = TmCopy::Kind::unicast, kMulticast = TmCopy::Kind::multicast,
                        kToCpu = TmCopy::Kind::cpu;

  Multicast multicast_;
  TrafficManager manager_{multicast_, kCpu};
  IngressForTm tm_;
  IngressForDeparser deparser_;
  bool again_ = false;
};

TEST_F(Forwarding, a_packet_that_nobody_sends_anywhere_goes_nowhere) { EXPECT_TRUE(forward().empty()); }

TEST_F(Forwarding, unicast_groups_and_processor_are_independent) {
  multicast_.set_group(1, {{10, false, 0, {1, 2}}});
  multicast_.set_group(2, {{20, false, 0, {3}}});
  tm_.ucast_egress_port = 9;
  tm_.mcast_grp_a = 1;
  tm_.mcast_grp_b = 2;
  tm_.copy_to_cpu = true;
  const std::vector<Copy> expected = {{kToCpu, kCpu, 0, false},
                                      {kUnicast, 9, 0, false},
                                      {kMulticast, 1, 10, true},
                                      {kMulticast, 2, 10, false},
                                      {kMulticast, 3, 20, true}};
  EXPECT_EQ(forward(), expected);
}

TEST_F(Forwarding, group_0_counts_once_it_is_written) {
  multicast_.set_group(0, {{1, false, 0, {5}}});
  EXPECT_TRUE(forward().empty());
  tm_.mcast_grp_a = 0;
  EXPECT_EQ(forward().size(), 1u);
}

TEST_F(Forwarding, drop_ctl_takes_what_its_bits_say) {
  tm_.ucast_egress_port = 9;
  tm_.copy_to_cpu = true;
  deparser_.drop_ctl = kDropPacket;
  EXPECT_EQ(forward(), (std::vector<Copy>{{kToCpu, kCpu, 0, false}}));
  deparser_.drop_ctl = kDropCopyToCpu;
  EXPECT_EQ(forward(), (std::vector<Copy>{{kUnicast, 9, 0, false}}));
  deparser_.drop_ctl = kDropPacket | kDropCopyToCpu;
  deparser_.resubmit_type = 1;
  EXPECT_TRUE(forward().empty());
  EXPECT_FALSE(again_) << "a dropped packet is not resubmitted";
}

TEST_F(Forwarding, a_packet_is_resubmitted_once) {
  tm_.ucast_egress_port = 9;
  deparser_.resubmit_type = 2;
  EXPECT_TRUE(forward().empty());
  EXPECT_TRUE(again_);
  EXPECT_EQ(forward(true), (std::vector<Copy>{{kUnicast, 9, 0, false}}));
  EXPECT_FALSE(again_);
}

TEST_F(Forwarding, level_1_leaves_out_nodes_by_their_xid) {
  multicast_.set_group(1, {{10, true, 7, {1}}, {11, true, 8, {2}}, {12, false, 7, {3}}});
  tm_.mcast_grp_a = 1;
  tm_.level1_exclusion_id = 7;
  EXPECT_EQ(forward(), (std::vector<Copy>{{kMulticast, 2, 11, true}, {kMulticast, 3, 12, true}}))
      << "an XID that is not valid excludes nothing";
}

TEST_F(Forwarding, level_2_leaves_out_ports_of_the_packets_own_rid) {
  multicast_.set_group(1, {{10, false, 0, {1, 2}}, {11, false, 0, {1}}});
  multicast_.set_prune(3, {1});
  tm_.mcast_grp_a = 1;
  tm_.level2_exclusion_id = 3;
  tm_.rid = 10;
  EXPECT_EQ(forward(), (std::vector<Copy>{{kMulticast, 2, 10, true}, {kMulticast, 1, 11, true}}));
  multicast_.set_global_rid(0xffff);
  tm_.rid = 0xffff;
  EXPECT_EQ(forward(), (std::vector<Copy>{{kMulticast, 2, 10, true}})) << "the global RID prunes every node";
}

TEST(Mirror, a_session_has_a_direction_and_can_be_switched_off) {
  MirrorTable table;
  EXPECT_FALSE(table.set(1024, {}));
  ASSERT_TRUE(table.set(5, {.direction = Gress::ingress, .ucast_egress_port = 9}));
  EXPECT_NE(table.find(5, Gress::ingress), nullptr);
  EXPECT_EQ(table.find(5, Gress::egress), nullptr);
  EXPECT_EQ(table.find(6, Gress::ingress), nullptr);
  ASSERT_TRUE(table.set(5, {.enabled = false, .ucast_egress_port = 9}));
  EXPECT_EQ(table.find(5, Gress::ingress), nullptr);
  table.remove(5);
  EXPECT_EQ(table.find(5, Gress::ingress), nullptr);
}

TEST(Mirror, a_copy_is_cut_header_included_and_goes_where_the_session_says) {
  const MirrorSession session{
      .ucast_egress_port = 9, .mcast_grp_b = 3, .rid = 4, .qid = 2, .max_pkt_len = 100};
  EXPECT_EQ(MirrorTable::copy_size(session, 7, 342), 100u);
  EXPECT_EQ(MirrorTable::copy_size(session, 7, 60), 67u);
  EXPECT_EQ(MirrorTable::copy_size({}, 7, 342), 349u) << "not cut";
  Multicast multicast;
  multicast.set_group(3, {{30, false, 0, {1}}});
  std::vector<uint16_t> ports;
  const TrafficManager manager(multicast, kCpu);
  manager.forward(MirrorTable::destination(session), {}, false, [&](const TmCopy& c) {
    ports.push_back(c.egress.egress_port);
    EXPECT_EQ(c.egress.egress_qid, 2);
  });
  EXPECT_EQ(ports, (std::vector<uint16_t>{9, 1}));
}

struct Generated {
  uint16_t port;
  std::string bytes;
};
std::vector<Generated> generate(PacketGenerator& generator, int64_t now_ns, unsigned limit = 1000) {
  std::vector<Generated> packets;
  generator.tick(now_ns, limit, [&](uint16_t port, std::string_view bytes) {
    packets.push_back({port, std::string(bytes)});
  });
  return packets;
}
PacketGeneratorApp app(PacketGeneratorApp::Trigger trigger) {
  return {.trigger = trigger,
          .enabled = true,
          .timer_ns = 1000,
          .pkt_buffer_offset = 16,
          .pkt_len = 4,
          .source_port = 68};
}

TEST(PacketGenerator, a_periodic_application_sends_at_each_tick_of_its_timer) {
  PacketGenerator generator(2);
  ASSERT_TRUE(generator.write_buffer(16, "abcdef").ok());
  ASSERT_TRUE(generator.configure(3, app(PacketGeneratorApp::Trigger::periodic), 500).ok());
  EXPECT_EQ(generator.next_deadline_ns(), 1500);
  EXPECT_TRUE(generate(generator, 1499).empty());
  const auto packets = generate(generator, 3600);  // at 1500, 2500, 3500
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].port, 2 * 128 + 68);
  EXPECT_EQ(packets[0].bytes, std::string("\x13\0\0\0\0\0abcd", 10))
      << "pipe 2, application 3, batch 0, packet 0";
  EXPECT_EQ(generator.next_deadline_ns(), 4500);
  EXPECT_EQ(generator.counters(3).triggers, 3u);
  EXPECT_EQ(generator.counters(3).packets, 3u);
}

TEST(PacketGenerator, a_one_shot_fires_once) {
  PacketGenerator generator(0);
  ASSERT_TRUE(generator.configure(0, app(PacketGeneratorApp::Trigger::one_shot), 0).ok());
  EXPECT_EQ(generate(generator, 10'000).size(), 1u);
  EXPECT_EQ(generator.next_deadline_ns(), base::kNever);
  ASSERT_TRUE(generator.configure(0, app(PacketGeneratorApp::Trigger::one_shot), 20'000).ok())
      << "armed again";
  EXPECT_EQ(generate(generator, 21'000).size(), 1u);
}

TEST(PacketGenerator, batches_and_packets_are_numbered_and_spaced) {
  PacketGenerator generator(0);
  PacketGeneratorApp a = app(PacketGeneratorApp::Trigger::periodic);
  a.packets_per_batch = 1, a.batch_count = 2, a.ipg_ns = 10, a.ibg_ns = 100, a.increment_source_port = true;
  ASSERT_TRUE(generator.configure(1, a, 0).ok());
  const auto packets = generate(generator, 1230);
  ASSERT_EQ(packets.size(), 6u) << "three batches of two from 1000, 1110 and 1220 on";
  const auto number = [&](size_t i, size_t at) { return static_cast<uint8_t>(packets[i].bytes[at]); };
  EXPECT_EQ(number(4, 3), 2) << "batch";
  EXPECT_EQ(number(5, 5), 1) << "packet";
  EXPECT_EQ(packets[4].port, 68);
  EXPECT_EQ(packets[5].port, 69);
  EXPECT_EQ(generator.counters(1).batches, 3u);
  EXPECT_EQ(generator.next_deadline_ns(), 2000);
}

TEST(PacketGenerator, sends_no_more_than_asked_for_and_nothing_once_disabled) {
  PacketGenerator generator(0);
  ASSERT_TRUE(generator.configure(0, app(PacketGeneratorApp::Trigger::periodic), 0).ok());
  EXPECT_EQ(generate(generator, 100'000, 7).size(), 7u);
  ASSERT_TRUE(generator.configure(0, {}, 100'000).ok());
  EXPECT_TRUE(generate(generator, 200'000).empty());
}

TEST(PacketGenerator, a_port_that_goes_down_triggers_once_until_all_is_sent) {
  PacketGenerator generator(1);
  PacketGeneratorApp a = app(PacketGeneratorApp::Trigger::port_down);
  a.timer_ns = 0, a.packets_per_batch = 1, a.ipg_ns = 100;
  ASSERT_TRUE(generator.configure(2, a, 0).ok());
  EXPECT_EQ(generator.next_deadline_ns(), base::kNever) << "no timer";
  generator.port_down(1 * 128 + 5, 1000);
  generator.port_down(1 * 128 + 6, 1050);  // the first one's second packet is still to come
  const auto packets = generate(generator, 2000);
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].bytes.substr(0, 6), std::string("\x0a\0\0\x85\0\0", 6)) << "port 133, packet 0";
  EXPECT_EQ(packets[1].bytes.substr(0, 6), std::string("\x0a\0\0\x85\0\1", 6));
  generator.port_down(1 * 128 + 6, 3000);
  EXPECT_EQ(generate(generator, 3000).size(), 1u);
  EXPECT_EQ(generator.counters(2).triggers, 2u);
}

TEST(PacketGenerator, a_recirculated_packet_triggers_what_waits_for_its_pattern) {
  PacketGenerator generator(0);
  PacketGeneratorApp a = app(PacketGeneratorApp::Trigger::recirculation);
  a.pattern_value = 0x12340000, a.pattern_mask = 0xffff0000;
  ASSERT_TRUE(generator.configure(0, a, 0).ok());
  generator.recirculated(0x12350000, 10);
  EXPECT_TRUE(generate(generator, 10).empty());
  generator.recirculated(0x1234abcd, 20);
  const auto packets = generate(generator, 20);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].bytes.substr(0, 4), std::string("\0\x34\xab\xcd", 4));
}

TEST(PacketGenerator, jitter_delays_by_less_than_was_said) {
  PacketGenerator generator(0);
  PacketGeneratorApp a = app(PacketGeneratorApp::Trigger::one_shot);
  a.packets_per_batch = 99, a.ipg_ns = 100, a.ipg_jitter_ns = 50;
  ASSERT_TRUE(generator.configure(0, a, 0).ok());
  int64_t last = generator.next_deadline_ns();
  bool differs = false;
  for (int i = 0; i < 99; ++i) {
    ASSERT_EQ(generate(generator, last).size(), 1u);
    const int64_t gap = generator.next_deadline_ns() - last;
    EXPECT_GE(gap, 100);
    EXPECT_LT(gap, 150);
    differs = differs || gap != 100;
    last += gap;
  }
  EXPECT_TRUE(differs);
}

TEST(PacketGenerator, refuses_what_the_chip_has_no_room_for) {
  PacketGenerator generator(0);
  EXPECT_FALSE(generator.configure(8, {}, 0).ok());
  EXPECT_FALSE(generator.write_buffer(8, "x").ok());
  EXPECT_FALSE(generator.write_buffer(16 * 1024, "x").ok());
  PacketGeneratorApp a = app(PacketGeneratorApp::Trigger::periodic);
  a.timer_ns = 0;
  EXPECT_FALSE(generator.configure(0, a, 0).ok());
  a = app(PacketGeneratorApp::Trigger::periodic);
  a.pkt_buffer_offset = 16 * 1024 - 16, a.pkt_len = 17;
  EXPECT_FALSE(generator.configure(0, a, 0).ok());
}

TEST(Meter, marks_by_the_committed_then_the_peak_bucket) {
  Meter meter;
  meter.configure({.cir = 1000, .pir = 2000, .cbs = 100, .pbs = 200}, 0);
  EXPECT_EQ(meter.execute(0, 100), Color::green);
  EXPECT_EQ(meter.execute(0, 100), Color::yellow) << "the committed bucket is empty";
  EXPECT_EQ(meter.execute(0, 1), Color::red) << "both are";
  EXPECT_EQ(meter.execute(10'000'000, 10), Color::green) << "10 ms bring 10 and 20";
  EXPECT_EQ(meter.execute(10'000'000, 10), Color::yellow);
  EXPECT_EQ(meter.execute(10'000'000, 1), Color::red);
}

TEST(Meter, never_improves_a_colour) {
  Meter meter;
  meter.configure({.cir = 1000, .pir = 2000, .cbs = 100, .pbs = 200}, 0);
  EXPECT_EQ(meter.execute(0, 10, Color::red), Color::red);
  EXPECT_EQ(meter.execute(0, 10, Color::yellow), Color::yellow);
  EXPECT_EQ(meter.execute(0, 100), Color::green) << "yellow ones took nothing from the committed bucket";
}

TEST(Meter, loses_no_rate_to_rounding_and_forgets_none_of_the_burst) {
  Meter meter;
  meter.configure({.cir = 3, .pir = 3, .cbs = 1, .pbs = 1}, 0);
  EXPECT_EQ(meter.execute(0, 1), Color::green);
  int green = 0;
  for (int64_t ms = 1; ms <= 100'000; ++ms) green += meter.execute(ms * 1'000'000, 1) == Color::green;
  EXPECT_GE(green, 299);  // three a second, looked at each millisecond: one may wait for the next look
  EXPECT_LE(green, 300);
  EXPECT_EQ(meter.execute(INT64_MAX, 1), Color::green) << "a long time fills the bucket and no more";
  EXPECT_EQ(meter.execute(INT64_MAX, 1), Color::red);
}

TEST(MeterArray, counts_bytes_or_packets_and_lets_all_pass_until_configured) {
  MeterArray bytes(4, MeterArray::Unit::bytes), packets(4, MeterArray::Unit::packets);
  EXPECT_EQ(bytes.execute(2, 0, 9000), Color::green);
  EXPECT_EQ(bytes.execute(2, 0, 9000, Color::yellow), Color::yellow);
  for (MeterArray* meters : {&bytes, &packets})
    meters->configure(2, {.cir = 1, .pir = 1, .cbs = 2, .pbs = 2}, 0);
  EXPECT_EQ(bytes.execute(2, 0, 3), Color::red);
  EXPECT_EQ(packets.execute(2, 0, 3), Color::green);
  EXPECT_EQ(packets.execute(2, 0, 3), Color::green);
  EXPECT_EQ(packets.execute(2, 0, 3), Color::red);
  packets.reset(2);
  EXPECT_EQ(packets.execute(2, 0, 3), Color::green);
}

TEST(Counter, counts_what_its_type_says_and_sums_pipes) {
  PipeCounters both(2, 8, CounterType::packets_and_bytes), packets(1, 8, CounterType::packets);
  both.pipe(0).count(3, 100);
  both.pipe(1).count(3, 60, 10);
  EXPECT_EQ(both.read(3).packets, 2u);
  EXPECT_EQ(both.read(3).bytes, 150u);
  both.write(0, 3, {7, 1});
  both.write(1, 3, {});
  EXPECT_EQ(both.read(3).bytes, 7u);
  EXPECT_EQ(both.read(3).packets, 1u);
  packets.pipe(0).count(0, 100);
  EXPECT_EQ(packets.read(0).bytes, 0u);
  EXPECT_EQ(both.size(), 8u);
}

TEST(Digest, keeps_so_many_and_counts_the_rest) {
  DigestQueue queue(2);
  queue.pack("one");
  queue.pack("two");
  queue.pack("three");
  queue.pack(std::string(49, 'x'));
  EXPECT_EQ(queue.take(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(queue.lost(), 2u);
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST(PortMetadata, is_zero_until_it_is_set) {
  PortMetadata ports;
  EXPECT_EQ(ports.get(5), 0u);
  EXPECT_TRUE(ports.set(5, 0x1234567890abcdef));
  EXPECT_EQ(ports.get(5), 0x1234567890abcdefu);
  EXPECT_FALSE(ports.set(512, 1));
}

}  // namespace
}  // namespace l3dml::tna
