#include "tools/gen/open_loop.h"

#include <gtest/gtest.h>

#include "tools/gen/testing/tested_switch.h"

namespace l3dml::gen {
namespace {

using base::DropReason;
using base::kMicrosecond;
using base::kMillisecond;
using testing::TestedSwitch;

constexpr Trial kTrial{200'000, 20 * kMillisecond, 5 * kMillisecond};

TrialResult run(OpenLoop& loop, TestedSwitch& tested, const Trial& trial = kTrial,
                int64_t step_ns = 20 * kMicrosecond) {
  loop.begin(trial, tested.now_ns);
  EXPECT_TRUE(tested.run(loop, step_ns));
  return loop.finish();
}

TEST(OpenLoop, every_result_comes_back_right) {
  TestedSwitch tested(4, {{64}});
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  for (int trial = 0; trial < 3; ++trial) {  // numbers go on, over the ring and over again
    const TrialResult r = run(loop, tested);
    EXPECT_EQ(r.sent, 4000u);
    EXPECT_EQ(r.received, r.sent);
    EXPECT_EQ(r.lost + r.wrong, 0u) << r.first_wrong;
    EXPECT_TRUE(r.passed());
    EXPECT_EQ(r.latency.count(), r.received);
    EXPECT_EQ(r.frame_bytes, r.sent * (86 + 256));
    EXPECT_EQ(r.strays.unwanted + r.strays.nacks + r.strays.duplicates, 0u);
  }
}

TEST(OpenLoop, jobs_are_mixed_by_their_shares) {
  TestedSwitch tested(3, {{64, 1}, {256, 3}, {192, 0.5}});
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  const TrialResult r = run(loop, tested);
  EXPECT_TRUE(r.passed()) << r.first_wrong;
  const uint64_t mine = r.sent / 9;  // 2 of 9 packets are the first job's, 6 the second's, 1 the third's
  const uint64_t bytes = mine * 2 * (86 + 256) + mine * 6 * (86 + 1024) + mine * (86 + 768);
  EXPECT_NEAR(static_cast<double>(r.frame_bytes), static_cast<double>(bytes),
              0.01 * static_cast<double>(bytes));
  EXPECT_NEAR(loop.mean_frame_bytes(), static_cast<double>(bytes) / static_cast<double>(9 * mine), 1);
}

TEST(OpenLoop, skewed_workers_are_summed_when_the_last_has_sent) {
  TestedSwitch tested(4, {{64}});
  OpenLoop loop(tested.traffic(), tested.ports(), {.skew_ns = 2 * kMillisecond});
  const TrialResult r = run(loop, tested);
  EXPECT_TRUE(r.passed()) << r.first_wrong;
  EXPECT_LE(r.latency.max(), 40 * kMicrosecond);  // from the last worker's time, not from the first's
}

TEST(OpenLoop, counts_exactly_what_is_lost) {
  TestedSwitch tested(4, {{64}});
  uint64_t ups = 0, downs = 0;
  tested.tap = [&](bool up, std::vector<uint8_t>& frame) {
    const auto type = reinterpret_cast<const wire::Head*>(frame.data())->l3dml.type();
    if (up) return type == wire::Type::up && ++ups % 100 == 50;
    return type == wire::Type::down && ++downs % 100 == 50;
  };
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  const TrialResult r = run(loop, tested);
  // An UP that is lost costs its four workers the result.
  EXPECT_EQ(r.lost, ups / 100 * 4 + downs / 100);
  EXPECT_EQ(r.received, r.sent - r.lost);
  EXPECT_GT(r.strays.nacks, 0u);
  EXPECT_FALSE(r.passed());
  tested.tap = nullptr;
  const TrialResult next = run(loop, tested);
  EXPECT_TRUE(next.passed()) << next.lost << next.first_wrong;
}

TEST(OpenLoop, finds_a_sum_that_is_wrong_by_one_bit) {
  TestedSwitch tested(2, {{64}});
  uint64_t downs = 0;
  tested.tap = [&](bool up, std::vector<uint8_t>& frame) {
    if (!up && reinterpret_cast<const wire::Head*>(frame.data())->l3dml.type() == wire::Type::down &&
        ++downs == 77)
      frame.back() ^= 1;
    return false;
  };
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  const TrialResult r = run(loop, tested);
  EXPECT_EQ(r.wrong, 1u);
  EXPECT_EQ(r.lost, 0u);
  EXPECT_NE(r.first_wrong.find("not the sum"), std::string::npos) << r.first_wrong;
}

TEST(OpenLoop, a_result_left_over_in_a_slot_is_told_from_a_right_one) {
  TestedSwitch tested(2, {{64}}, 64);
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  std::vector<std::vector<uint8_t>> old;
  tested.tap = [&](bool up, std::vector<uint8_t>& frame) {
    auto& h = reinterpret_cast<wire::Head*>(frame.data())->l3dml;
    if (up || h.type() != wire::Type::down) return false;
    // The lanes of the number before in the same slot.
    std::vector<uint8_t> lanes(frame.begin() + wire::kHeadSize, frame.end());
    old.push_back(lanes);
    if (old.size() == 129) std::copy(old[0].begin(), old[0].end(), frame.begin() + wire::kHeadSize);
    return false;
  };
  EXPECT_EQ(run(loop, tested).wrong, 1u);
}

TEST(OpenLoop, a_stalled_generator_does_not_hide_what_it_delays) {
  TestedSwitch tested(2, {{64}});
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  loop.begin({100'000, 20 * kMillisecond, kMillisecond}, tested.now_ns);
  bool stalled = false;
  while (loop.step(tested.now_ns)) {
    tested.pump(tested.now_ns);
    tested.now_ns += 10 * kMicrosecond;
    if (!stalled && tested.now_ns > 11 * kMillisecond) stalled = true, tested.now_ns += 5 * kMillisecond;
  }
  const TrialResult r = loop.finish();
  EXPECT_EQ(r.lost, 0u);
  // A quarter of the time nothing was sent: a quarter of the results is late, by up to the whole stall.
  EXPECT_GE(r.latency.max(), 5 * kMillisecond - 20 * kMicrosecond);
  EXPECT_GE(r.latency.percentile(80), kMillisecond / 2);
  EXPECT_LE(r.latency.percentile(70), 30 * kMicrosecond);
  EXPECT_GE(r.late_ns, 5 * kMillisecond - 20 * kMicrosecond);
}

TEST(OpenLoop, what_has_no_buffer_is_not_sent_and_fails_the_trial) {
  TestedSwitch tested(2, {{64}});
  base::HeapPool none(0);
  PortSet ports = tested.ports();
  ports.pool = &none;
  OpenLoop loop(tested.traffic(), ports, {});
  const TrialResult r = run(loop, tested);
  EXPECT_EQ(r.no_buffer, r.sent);
  EXPECT_EQ(r.lost, r.sent);
  EXPECT_EQ(r.sent_per_s, 0);
}

TEST(OpenLoop, survives_whatever_comes_in) {
  TestedSwitch tested(2, {{64}});
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  BadFrames bad(3);
  base::HeapPool pool(64, 9728);
  std::mt19937_64 random(5);
  tested.tap = [&](bool up, std::vector<uint8_t>& frame) {
    if (up) return false;
    for (unsigned kind = 0; kind < kBadKinds; ++kind) {  // bad frames, and results bent in one byte
      base::Packet* packet = tested.ports().pool->alloc();
      if (random() % 2) {
        bad.write(static_cast<Bad>(kind), tested.traffic()[0].members[0], packet);
      } else {
        std::memcpy(packet->data, frame.data(), frame.size());
        packet->size = static_cast<uint32_t>(random() % 8 ? frame.size() : random() % frame.size());
        // Not a byte that makes it another number's, or not a result at all: that would be a wrong result.
        const size_t at = random() % 54;
        packet->data[at] ^= static_cast<uint8_t>(1 + random() % 255);
      }
      static_cast<io::MemoryPort*>(tested.ports().ports[0])->inject(packet);
    }
    return false;
  };
  const TrialResult r = run(loop, tested, {20'000, 20 * kMillisecond, 5 * kMillisecond});
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.wrong, 0u) << r.first_wrong;
  EXPECT_GT(r.strays.foreign, 0u);
  EXPECT_GT(r.strays.unwanted, 0u);
}

// --- floods: the switch keeps its state, the jobs their results

class FloodTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(FloodTest, real_jobs_keep_their_results) {
  const auto kind = static_cast<Bad>(GetParam());
  TestedSwitch tested(4, {{64}, {256}});
  OpenLoop loop(tested.traffic(), tested.ports(), {.skew_ns = 100 * kMicrosecond, .floods = {{kind, 2}}});
  const TrialResult r = run(loop, tested);
  EXPECT_TRUE(r.passed()) << r.lost << " lost, " << r.first_wrong;
  EXPECT_NEAR(static_cast<double>(r.bad_sent), 2.0 * static_cast<double>(r.sent), 20);
}

TEST_P(FloodTest, state_is_untouched) {
  const auto kind = static_cast<Bad>(GetParam());
  TestedSwitch tested(4, {{64}});
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  ASSERT_TRUE(run(loop, tested).passed());
  tna::DeviceTwin& device = *tested.rig().device;
  const auto image = [&] {
    std::vector<std::array<uint64_t, 2>> cells;
    for (const char* name :
         {"pipe.Ingress.slot_state.stamp", "pipe.Ingress.slot_state.bitmap", "pipe.Ingress.slot_state.count",
          "pipe.Ingress.aggregator.weight", "pipe.Ingress.exponent.exps", "pipe.Ingress.aggregator.lanes00",
          "pipe.Ingress.aggregator.lanes31", "pipe.Ingress.segment_receiver.expected",
          "pipe.Egress.segment_sender.tx_seq"}) {
      tna::RegisterTwin* cell = device.register_array(name);
      for (uint32_t i = 0; i < cell->size(); ++i) cells.push_back(cell->read(0, i));
    }
    return cells;
  };
  const auto before = image();
  BadFrames bad(GetParam());
  uint64_t answered = 0;
  tested.tap = [&](bool up, std::vector<uint8_t>&) { return answered += !up, false; };
  const PortSet ports = tested.ports();
  for (unsigned i = 0; i < 2000; ++i) {
    const Member& member = tested.traffic()[0].members[i % 4];
    base::Packet* packet = ports.pool->alloc();
    bad.write(kind, member, packet);
    ports.ports[member.port]->tx_burst({&packet, 1}, tested.now_ns);
  }
  tested.pump(tested.now_ns);
  EXPECT_EQ(before, image());
  // Garbage may be a ping or a question for a neighbour; nothing else is answered.
  EXPECT_TRUE(kind == Bad::garbage || answered == 0u) << answered;
}

INSTANTIATE_TEST_SUITE_P(All, FloodTest, ::testing::Range(0u, kBadKinds), [](const auto& of) {
  std::string name(bad_name(static_cast<Bad>(of.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Flood, each_kind_is_dropped_for_its_own_reason) {
  const std::pair<Bad, std::vector<DropReason>> kinds[] = {
      {Bad::unknown_job, {DropReason::unknown_job}},
      {Bad::wrong_lanes, {DropReason::bad_lane_count, DropReason::bad_udp_length}},
      {Bad::jumbo, {DropReason::bad_lane_count}},
      {Bad::fragment, {DropReason::fragment}},
      {Bad::wrong_epoch, {DropReason::wrong_epoch}},
      {Bad::wrong_source, {DropReason::wrong_source}},
      {Bad::truncated, {DropReason::truncated}}};
  for (const auto& [kind, reasons] : kinds) {
    TestedSwitch tested(2, {{128}});
    BadFrames bad(9);
    const PortSet ports = tested.ports();
    for (unsigned i = 0; i < 500; ++i) {
      const Member& member = tested.traffic()[0].members[i % 2];
      base::Packet* packet = ports.pool->alloc();
      bad.write(kind, member, packet);
      ports.ports[member.port]->tx_burst({&packet, 1}, tested.now_ns);
    }
    tested.pump(tested.now_ns);
    uint64_t dropped = 0;
    for (const DropReason reason : reasons) dropped += tested.rig().drops(reason);
    EXPECT_EQ(dropped, 500u) << bad_name(kind);
  }
}

}  // namespace
}  // namespace l3dml::gen
