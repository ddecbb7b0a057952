#include "tools/host/pacer.h"

#include <array>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/base/clock.h"

namespace l3dml::host {
namespace {

constexpr size_t kFrame = 1110;

TEST(Pacer, keeps_its_rate_and_catches_up_a_little) {
  Pacer pacer(100'000'000);
  uint64_t sent = 0;
  for (int64_t now = 0; now < base::kSecond; now += 100 * base::kMicrosecond) {
    pacer.refill(now);
    while (pacer.may_send()) pacer.spend(kFrame), sent += kFrame;
  }
  EXPECT_NEAR(static_cast<double>(sent) * 8, 100e6, 1e6);
  sent = 0;
  pacer.refill(10 * base::kSecond);  // slept for nine seconds
  while (pacer.may_send()) pacer.spend(kFrame), sent += kFrame;
  EXPECT_LE(sent, 102'000u) << "eight milliseconds' worth";
}

TEST(Pacer, wakes_up_for_bursts_not_for_packets) {
  Pacer pacer(1'000'000'000);
  pacer.refill(0);
  while (pacer.may_send()) pacer.spend(kFrame);
  const int64_t next = pacer.next_ns();
  EXPECT_GE(next, 200 * base::kMicrosecond);
  pacer.refill(next);
  EXPECT_TRUE(pacer.may_send());
}

TEST(Pacer, without_a_ceiling_nothing_holds_it_back) {
  Pacer pacer(0);
  pacer.refill(0);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(pacer.may_send());
    pacer.spend(kFrame);
  }
}

// A link with a queue that marks above a threshold, and pacers that hear of it one round trip later.
struct Link {
  double rate_bps, mark_bytes = 60'000;
  int64_t round_trip_ns = 20 * base::kMillisecond;
  std::vector<Pacer*> pacers;
  std::vector<double> delivered = std::vector<double>(8);
  double largest_queue = 0;

  void run(int64_t from_ns, int64_t to_ns) {
    struct Result {
      int64_t sent_ns, due_ns;
      size_t who;
      bool marked;
    };
    std::deque<Result> results;
    double queue = 0;
    constexpr int64_t kTick = 100 * base::kMicrosecond;
    for (int64_t now = from_ns; now < to_ns; now += kTick) {
      queue = std::max(0.0, queue - rate_bps / 8 * static_cast<double>(kTick) / base::kSecond);
      for (size_t i = 0; i < pacers.size(); ++i) {
        pacers[i]->refill(now);
        while (pacers[i]->may_send()) {
          pacers[i]->spend(kFrame);
          queue += kFrame;
          delivered[i] += kFrame;
          const auto wait = static_cast<int64_t>(queue * 8 / rate_bps * base::kSecond);
          results.push_back({now, now + round_trip_ns + wait, i, queue > mark_bytes});
        }
      }
      largest_queue = std::max(largest_queue, queue);
      for (; !results.empty() && results.front().due_ns <= now; results.pop_front())
        pacers[results.front().who]->on_result(results.front().marked, results.front().sent_ns, now,
                                               round_trip_ns);
    }
  }
};

TEST(Pacer, two_jobs_share_a_link_and_use_it) {
  for (const int64_t late_ns : {int64_t{0}, 3 * base::kSecond}) {
    Pacer first(100'000'000), second(100'000'000);
    Link link{100e6};
    link.pacers = {&first};
    if (late_ns) link.run(0, late_ns);
    link.pacers = {&first, &second};
    link.run(late_ns, late_ns + 5 * base::kSecond);
    link.delivered = std::vector<double>(8);
    link.largest_queue = 0;
    link.run(late_ns + 5 * base::kSecond, late_ns + 15 * base::kSecond);
    const double sum = link.delivered[0] + link.delivered[1];
    EXPECT_NEAR(link.delivered[0] / sum, 0.5, 0.1);
    EXPECT_GT(sum * 8 / 10, 88e6) << "the link is used";
    EXPECT_LT(sum * 8 / 10, 101e6);
    EXPECT_LT(link.largest_queue, 300'000) << "no standing queue";
  }
}

TEST(Pacer, returns_to_its_ceiling_when_marks_end) {
  Pacer pacer(100'000'000);
  int64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    now += 10 * base::kMillisecond;
    pacer.refill(now);
    pacer.spend(10'000);
    pacer.on_result(true, now - 1, now, 20 * base::kMillisecond);
  }
  EXPECT_LT(pacer.rate_bps(), 10'000'000u);
  EXPECT_GE(pacer.rate_bps(), 1'000'000u) << "never starved";
  for (int i = 0; i < 100; ++i) {
    now += 10 * base::kMillisecond;
    pacer.on_result(false, now, now, 20 * base::kMillisecond);
  }
  EXPECT_EQ(pacer.rate_bps(), 100'000'000u);
}

}  // namespace
}  // namespace l3dml::host
