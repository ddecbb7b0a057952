#include "tools/host/segment.h"

#include <gtest/gtest.h>

#include "tools/host/probe_cookies.h"
#include "tools/host/round_trip.h"

namespace l3dml::host {
namespace {

TEST(UpSegment, clips_nacks_to_what_was_sent_and_is_still_known) {
  UpSegment up(64);
  Hole hole{0, 5};
  EXPECT_FALSE(up.clip(&hole)) << "never sent";
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(up.send(1000 + i, false, 0, 1), i);
  hole = {95, 101};
  EXPECT_FALSE(up.clip(&hole)) << "beyond what was sent";
  hole = {99, 98};
  EXPECT_FALSE(up.clip(&hole)) << "empty";
  hole = {0u - 5, 40};
  EXPECT_TRUE(up.clip(&hole));
  EXPECT_EQ(hole.first, 36u);
  EXPECT_EQ(up.number(99), 1099u);
  hole = {5, 20};
  EXPECT_FALSE(up.clip(&hole)) << "forgotten";
}

TEST(UpSegment, rations_repairs_by_first_transmissions) {
  UpSegment up(256);
  const auto take_all = [&] {
    unsigned taken = 0;
    while (taken < 10'000 && up.take_repair()) ++taken;
    return taken;
  };
  EXPECT_EQ(take_all(), 64u);
  for (uint32_t i = 0; i < 10; ++i) up.send(i, false, 0, 1);
  for (uint32_t i = 0; i < 10; ++i) up.send(i, true, 0, 1);
  EXPECT_EQ(take_all(), 10u);
  for (uint32_t i = 0; i < 1000; ++i) up.send(i, false, 0, 1);
  EXPECT_EQ(take_all(), 256u) << "no more than the ring remembers";
}

TEST(UpSegment, falls_silent_after_three_syncs) {
  UpSegment up(64);
  EXPECT_EQ(up.sync_due_ns(), base::kNever);
  up.send(1, false, 1000, 200);
  EXPECT_EQ(up.sync_due_ns(), 1200);
  up.sync_sent(1200);
  EXPECT_EQ(up.sync_due_ns(), 1200 + 800);
  up.sync_sent(2000);
  EXPECT_EQ(up.sync_due_ns(), 2000 + 3200);
  up.sync_sent(5200);
  EXPECT_EQ(up.sync_due_ns(), base::kNever);
}

TEST(DownSegment, reports_each_hole_once_also_around_the_wrap) {
  DownSegment down;
  EXPECT_FALSE(down.receive(0, 1).exists());
  Hole hole = down.receive(3, 4);
  EXPECT_EQ(hole.first, 1u);
  EXPECT_EQ(hole.end, 3u);
  EXPECT_FALSE(down.receive(1, 2).exists()) << "a repair, or late";
  EXPECT_FALSE(down.receive(4, 5).exists());
  hole = down.receive(7, 7);  // SYNC
  EXPECT_EQ(hole.first, 5u);
  EXPECT_EQ(hole.end, 7u);
  EXPECT_FALSE(down.receive(7, 8).exists());
  DownSegment wrapped;
  for (const uint32_t next : {0x60000000u, 0xc0000000u, 0xffffffffu}) wrapped.receive(next - 1, next);
  hole = wrapped.receive(1, 2);
  EXPECT_EQ(hole.first, 0xffffffffu);
  EXPECT_EQ(hole.end, 1u);
}

TEST(RoundTrip, follows_rfc_6298) {
  RoundTrip r;
  EXPECT_EQ(r.timeout_ns(), base::kSecond);
  r.sample(100 * base::kMillisecond);
  EXPECT_EQ(r.smoothed_ns(), 100 * base::kMillisecond);
  EXPECT_EQ(r.timeout_ns(), 300 * base::kMillisecond);
  for (int i = 0; i < 100; ++i) r.sample(100 * base::kMillisecond);
  EXPECT_LE(r.timeout_ns(), 102 * base::kMillisecond);
  EXPECT_GE(r.timeout_ns(), 101 * base::kMillisecond);
}

TEST(RoundTrip, grows_step_by_step_with_a_sample_that_is_hours_old) {
  RoundTrip r;
  for (int i = 0; i < 100; ++i) r.sample(100 * base::kMillisecond);
  r.sample(3600 * base::kSecond);
  EXPECT_LE(r.timeout_ns(), 250 * base::kMillisecond);
  for (int i = 0; i < 100; ++i) r.sample(10 * base::kSecond);
  EXPECT_GE(r.timeout_ns(), 10 * base::kSecond) << "a longer way is believed in the end";
}

TEST(LeastTime, forgets_a_minimum_after_two_windows) {
  LeastTime t;
  EXPECT_FALSE(t.known());
  t.sample(5);
  for (int i = 0; i < 300; ++i) t.sample(50);
  EXPECT_EQ(t.least_ns(), 5);
  for (int i = 0; i < 300; ++i) t.sample(50);
  EXPECT_EQ(t.least_ns(), 50);
}

TEST(ProbeCookies, are_good_once_and_for_their_number) {
  ProbeCookies cookies(7);
  const uint16_t tag = cookies.issue(100, false, 1000);
  EXPECT_FALSE(cookies.redeem(static_cast<uint16_t>(tag ^ 0x100), 100, 2000)) << "guessed";
  EXPECT_FALSE(cookies.redeem(tag, 101, 2000)) << "of another number";
  const auto answer = cookies.redeem(tag, 100, 2500);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->round_trip_ns, 1500);
  EXPECT_FALSE(answer->overtaken);
  EXPECT_FALSE(cookies.redeem(tag, 100, 3000)) << "twice";
  const uint16_t old = cookies.issue(101, false, 4000), later = cookies.issue(101, false, 5000);
  EXPECT_FALSE(cookies.redeem(later, 101, 5100)->overtaken);
  EXPECT_TRUE(cookies.redeem(old, 101, 900'000)->overtaken) << "an old answer measures nothing";
}

}  // namespace
}  // namespace l3dml::host
