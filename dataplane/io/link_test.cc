#include "dataplane/io/link.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"

namespace l3dml::io {
namespace {

using base::kMicrosecond;
using base::kMillisecond;

struct Arrival {
  uint32_t id;
  int64_t time_ns;
  bool operator==(const Arrival&) const = default;
};

class LinkTest : public testing::Test {
 protected:
  base::HeapPool pool_{1 << 20};

  base::Packet* make(uint32_t id, uint32_t size = 1000) {
    base::Packet* packet = pool_.alloc();
    packet->size = size;
    std::fill_n(packet->data, size, uint8_t{0});
    std::memcpy(packet->data + 60, &id, sizeof id);
    return packet;
  }
  static uint32_t id_of(const base::Packet& packet) {
    uint32_t id;
    std::memcpy(&id, packet.data + 60, sizeof id);
    return id;
  }
  // Takes all that arrives, at the link's own deadlines.
  static std::vector<Arrival> drain(Link& link) {
    std::vector<Arrival> result;
    base::Packet* packets[7];
    while (link.next_deadline() != base::kNever) {
      const int64_t now = link.next_deadline();
      unsigned count;
      while ((count = link.take(packets, 7, now)) != 0)
        for (unsigned i = 0; i < count; ++i) {
          result.push_back({id_of(*packets[i]), packets[i]->time_ns});
          base::release(packets[i]);
        }
    }
    return result;
  }
  std::vector<Arrival> run(Link& link, uint32_t count, int64_t gap_ns, uint32_t size = 1000) {
    std::vector<Arrival> result;
    base::Packet* packet;
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t now = i * gap_ns;
      while (link.next_deadline() <= now) {
        const int64_t due = link.next_deadline();
        while (link.take(&packet, 1, due) == 1) {
          result.push_back({id_of(*packet), packet->time_ns});
          base::release(packet);
        }
      }
      link.offer(make(i, size), now);
    }
    const auto rest = drain(link);
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  }
};

TEST_F(LinkTest, adds_delay_only) {
  Link link({.delay_ns = 25 * kMillisecond}, 1);
  link.offer(make(7), 1000);
  EXPECT_EQ(drain(link), (std::vector<Arrival>{{7, 1000 + 25 * kMillisecond}}));
}

TEST_F(LinkTest, counts_preamble_gap_and_check_sequence_on_the_wire) {
  Link link({.rate_bps = 1'000'000'000}, 1);  // 8 ns a byte
  link.offer(make(0, 1000), 0);
  link.offer(make(1, 1000), 0);
  EXPECT_EQ(drain(link), (std::vector<Arrival>{{0, 8 * 1024}, {1, 2 * 8 * 1024}}));
  Link plain({.rate_bps = 1'000'000'000, .overhead_bytes = 0}, 1);
  plain.offer(make(0, 1000), 0);
  EXPECT_EQ(drain(plain), (std::vector<Arrival>{{0, 8 * 1000}}));
}

TEST_F(LinkTest, rate_holds_over_a_backlog) {
  Link link({.rate_bps = 100'000'000, .delay_ns = kMillisecond, .queue_bytes = 1 << 30}, 1);
  const auto arrivals = run(link, 10000, 0);
  ASSERT_EQ(arrivals.size(), 10000u);
  EXPECT_EQ(arrivals.back().time_ns, 10000 * int64_t{81920} + kMillisecond);
}

TEST_F(LinkTest, drops_the_tail_of_a_full_queue) {
  Link link({.rate_bps = 100'000'000, .queue_bytes = 3000}, 1);
  for (uint32_t i = 0; i < 6; ++i) link.offer(make(i), 0);  // one on the wire, three wait
  EXPECT_EQ(link.counters().queue_drops, 2u);
  EXPECT_EQ(link.queue_bytes(), 3000u);
  EXPECT_EQ(drain(link).size(), 4u);
  EXPECT_EQ(pool_.alive(), 0u);
}

TEST_F(LinkTest, default_queue_is_a_round_trip_of_data) {
  EXPECT_EQ((LinkParameters{.rate_bps = 100'000'000, .delay_ns = 25 * kMillisecond}.queue_limit_bytes()),
            625'000u);
  EXPECT_EQ((LinkParameters{.rate_bps = 1'000'000}.queue_limit_bytes()), 64u * 1024);
}

TEST_F(LinkTest, does_not_depend_on_when_it_is_looked_at) {
  const LinkParameters parameters{.rate_bps = 50'000'000,
                                  .delay_ns = 5 * kMillisecond,
                                  .jitter_ns = kMillisecond,
                                  .loss = LossModel::bursts(0.02, 4),
                                  .duplicate = 0.01,
                                  .reorder = 0.05,
                                  .queue_bytes = 20'000};
  Link eager(parameters, 42), lazy(parameters, 42);
  const auto watched = run(eager, 5000, 150 * kMicrosecond);
  for (uint32_t i = 0; i < 5000; ++i) lazy.offer(make(i), i * 150 * kMicrosecond);
  EXPECT_EQ(drain(lazy), watched);
  EXPECT_EQ(lazy.counters().queue_drops, eager.counters().queue_drops);
  Link other(parameters, 43);
  EXPECT_NE(run(other, 5000, 150 * kMicrosecond), watched);
}

TEST_F(LinkTest, bernoulli_loss_has_its_mean_and_no_memory) {
  Link link({.loss = LossModel::bernoulli(0.1)}, 5);
  const uint32_t n = 200'000;
  const auto arrivals = run(link, n, 1000);
  const double lost = static_cast<double>(link.counters().lost_packets);
  EXPECT_NEAR(lost / n, 0.1, 5 * std::sqrt(0.1 * 0.9 / n));
  uint32_t after_loss = 0, pairs = 0;  // P(lost | predecessor lost) is the same
  std::vector<bool> got(n);
  for (const Arrival& arrival : arrivals) got[arrival.id] = true;
  for (uint32_t i = 1; i < n; ++i)
    if (!got[i - 1]) {
      ++after_loss;
      pairs += !got[i];
    }
  EXPECT_NEAR(static_cast<double>(pairs) / after_loss, 0.1, 5 * std::sqrt(0.09 / after_loss));
}

TEST_F(LinkTest, gilbert_elliott_loses_in_bursts) {
  const LossModel model = LossModel::bursts(0.05, 8);
  EXPECT_NEAR(model.mean(), 0.05, 1e-12);
  Link link({.loss = model}, 9);
  const uint32_t n = 400'000;
  const auto arrivals = run(link, n, 1000);
  const double lost = static_cast<double>(link.counters().lost_packets);
  EXPECT_NEAR(lost / n, 0.05, 0.004);
  uint32_t bursts = 0;
  for (size_t i = 1; i < arrivals.size(); ++i) bursts += arrivals[i].id != arrivals[i - 1].id + 1;
  EXPECT_NEAR(lost / bursts, 8, 0.4);
}

TEST_F(LinkTest, changing_the_jitter_leaves_losses_where_they_were) {
  Link calm({.delay_ns = kMillisecond, .loss = LossModel::bernoulli(0.05)}, 3);
  Link rough({.delay_ns = kMillisecond, .jitter_ns = kMillisecond, .loss = LossModel::bernoulli(0.05)}, 3);
  const auto ids = [](std::vector<Arrival> arrivals) {
    std::vector<uint32_t> result;
    for (const Arrival& arrival : arrivals) result.push_back(arrival.id);
    return result;
  };
  EXPECT_EQ(ids(run(calm, 5000, 10'000)), ids(run(rough, 5000, 10'000)));
}

TEST_F(LinkTest, jitter_spreads_evenly_and_keeps_order) {
  const int64_t gap = 10 * kMillisecond;  // far apart, so that order never holds one back
  Link link({.delay_ns = 5 * kMillisecond, .jitter_ns = 2 * kMillisecond}, 11);
  double sum = 0, squares = 0;
  const auto arrivals = run(link, 20'000, gap);
  for (const Arrival& arrival : arrivals) {
    const double delay = static_cast<double>(arrival.time_ns - arrival.id * gap) / 1e6;
    EXPECT_GE(delay, 3.0);
    EXPECT_LE(delay, 7.0);
    sum += delay;
    squares += delay * delay;
  }
  const double mean = sum / 20'000;
  EXPECT_NEAR(mean, 5, 0.05);
  EXPECT_NEAR(squares / 20'000 - mean * mean, 4.0 / 3, 0.05);  // (2j)^2 / 12
  Link tight({.delay_ns = 5 * kMillisecond, .jitter_ns = 2 * kMillisecond, .jitter_kind = JitterKind::normal},
             11);
  const auto close = run(tight, 20'000, 1000);
  EXPECT_TRUE(std::is_sorted(close.begin(), close.end(), [](auto& a, auto& b) { return a.id < b.id; }));
}

TEST_F(LinkTest, reorders_the_share_it_should) {
  Link link({.delay_ns = kMillisecond, .reorder = 0.1, .reorder_delay_ns = 50'000}, 2);
  const auto arrivals = run(link, 50'000, 10'000);
  ASSERT_EQ(arrivals.size(), 50'000u);
  uint32_t late = 0, newest = 0;
  for (const Arrival& arrival : arrivals) {
    late += arrival.id < newest;
    newest = std::max(newest, arrival.id);
  }
  EXPECT_NEAR(late, 5000, 400);
}

TEST_F(LinkTest, duplicates_are_equal_and_counted) {
  Link link({.duplicate = 0.2}, 2);
  const auto arrivals = run(link, 10'000, 1000);
  EXPECT_EQ(arrivals.size(), 10'000 + link.counters().duplicated_packets);
  EXPECT_NEAR(static_cast<double>(link.counters().duplicated_packets), 2000, 200);
  EXPECT_EQ(link.counters().delivered_packets, arrivals.size());
}

TEST_F(LinkTest, duplicate_without_memory_is_counted) {
  base::HeapPool small(1);
  Link link({.duplicate = 1}, 2);
  base::Packet* packet = small.alloc();
  packet->size = 100;
  link.offer(packet, 0);
  EXPECT_EQ(link.counters().no_buffer, 1u);
}

TEST_F(LinkTest, corrupt_frames_are_dropped_on_arrival) {
  Link link({.corrupt = 0.03}, 2);
  const size_t arrived = run(link, 10'000, 1000).size();
  EXPECT_EQ(arrived, 10'000 - link.counters().corrupted_packets);
  EXPECT_NEAR(static_cast<double>(link.counters().corrupted_packets), 300, 90);
  EXPECT_EQ(link.counters().lost_packets, 0u);
  Link noisy({.bit_error_rate = 1e-5}, 2);  // 8000 bits: 7.7 %
  run(noisy, 10'000, 1000);
  EXPECT_NEAR(static_cast<double>(noisy.counters().corrupted_packets), 769, 140);
}

TEST_F(LinkTest, marks_capable_packets_above_the_threshold) {
  Link link({.rate_bps = 10'000'000, .queue_bytes = 100'000, .ecn_bytes = 2000}, 1);
  for (uint32_t i = 0; i < 6; ++i) {
    base::Packet* packet = make(i);
    packet->data[12] = 0x86;
    packet->data[13] = 0xdd;
    packet->data[14] = 0x60;
    packet->data[15] = i == 5 ? 0x00 : 0x20;  // ECT(0), the last one not capable
    link.offer(packet, 0);
  }
  // 0 is on the wire, 1 and 2 fill 2000 bytes, 3 and 4 find them there.
  EXPECT_EQ(link.counters().marked_packets, 2u);
  base::Packet* packets[6];
  ASSERT_EQ(link.take(packets, 6, base::kSecond), 6u);
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(packets[i]->data[15] & 0x30, i == 3 || i == 4 ? 0x30 : i == 5 ? 0 : 0x20) << i;
    base::release(packets[i]);
  }
}

TEST_F(LinkTest, trace_changes_take_effect_at_their_times) {
  Link link({.rate_bps = 100'000'000, .overhead_bytes = 0, .queue_bytes = 1 << 30}, 1);
  LinkTrace trace;
  trace.changes = {{.at_ns = kMillisecond, .patch = {.rate_bps = 10'000'000}},
                   {.at_ns = 2 * kMillisecond, .patch = {.rate_bps = 100'000'000}}};
  trace.repeat_ns = 100 * kMillisecond;
  link.set_trace(trace, 0);
  const auto arrivals = run(link, 30, 0, 1250);  // 100 us each at 100 Mbit/s, 1 ms at 10
  ASSERT_EQ(arrivals.size(), 30u);
  EXPECT_EQ(arrivals[9].time_ns, kMillisecond);
  EXPECT_EQ(arrivals[10].time_ns, 2 * kMillisecond);  // the slow one
  EXPECT_EQ(arrivals[11].time_ns, 2 * kMillisecond + 100'000);
  link.offer(make(99, 1250), 101 * kMillisecond);  // the second period
  EXPECT_EQ(drain(link), (std::vector<Arrival>{{99, 102 * kMillisecond}}));
}

TEST_F(LinkTest, a_link_that_is_down_loses_everything) {
  Link link({.up = false}, 1);
  EXPECT_TRUE(run(link, 10, 1000).empty());
  EXPECT_EQ(link.counters().lost_packets, 10u);
  LinkParameters up;
  link.change(up, 20'000);
  link.offer(make(1), 20'000);
  EXPECT_EQ(drain(link).size(), 1u);
}

TEST_F(LinkTest, gives_its_packets_back) {
  {
    Link link({.rate_bps = 1'000'000, .delay_ns = kMillisecond, .reorder = 0.5}, 1);
    for (uint32_t i = 0; i < 40; ++i) link.offer(make(i), i * 1000);
    EXPECT_GT(link.packets_under_way(), 0u);
  }
  EXPECT_EQ(pool_.alive(), 0u);
}

TEST(LinkParameters, refuses_nonsense_by_name) {
  EXPECT_EQ((LinkParameters{.duplicate = 1.5}.validate().message()), "duplicate must lie between 0 and 1");
  EXPECT_FALSE((LinkParameters{.ecn_bytes = 1000}.validate().ok()));
  EXPECT_TRUE((LinkParameters{.rate_bps = 1'000'000, .ecn_bytes = 1000}.validate().ok()));
}

TEST(LinkPatch, reads_names_as_written) {
  LinkPatch patch;
  ASSERT_TRUE(patch.set("rate", "100Mbit").ok());
  ASSERT_TRUE(patch.set("delay", "25ms").ok());
  ASSERT_TRUE(patch.set("loss", "0.1%").ok());
  LinkParameters parameters;
  patch.apply(parameters);
  EXPECT_EQ(parameters.rate_bps, 100'000'000u);
  EXPECT_EQ(parameters.delay_ns, 25 * kMillisecond);
  EXPECT_DOUBLE_EQ(parameters.loss.mean(), 0.001);
  EXPECT_TRUE(absl::IsNotFound(patch.set("latency", "1ms")));
  EXPECT_FALSE(patch.set("loss", "120%").ok());
  ASSERT_TRUE(patch.set_loss({{"mean", "1%"}, {"burst", "5"}}).ok());
  EXPECT_NEAR(patch.loss->mean(), 0.01, 1e-12);
  EXPECT_FALSE(patch.set_loss({{"mean", "1%"}, {"good_to_bad", "5%"}}).ok());
  EXPECT_FALSE(patch.set_loss({{"burst", "5"}}).ok());
}

}  // namespace
}  // namespace l3dml::io
