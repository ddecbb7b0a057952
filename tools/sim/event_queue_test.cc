#include "tools/sim/event_queue.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tools/sim/random.h"

namespace l3dml::sim {
namespace {

TEST(EventQueue, gives_events_in_order_of_time_and_then_of_insertion) {
  EventQueue<int> queue;
  Random random(3);
  std::vector<std::pair<int64_t, int>> expected;
  for (int i = 0; i < 5000; ++i) {
    const int64_t time_ns = random.below(200);
    queue.push(time_ns, i);
    expected.emplace_back(time_ns, i);
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [time_ns, payload] : expected) {
    int64_t at_ns = -1;
    EXPECT_EQ(queue.pop(&at_ns), payload);
    EXPECT_EQ(at_ns, time_ns);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, uses_places_again) {
  EventQueue<int> queue;
  int64_t at_ns = 0;
  for (int i = 0; i < 1000; ++i) {
    queue.push(i, i);
    queue.push(i, -i);
    EXPECT_EQ(queue.pop(&at_ns), i);
    EXPECT_EQ(queue.pop(&at_ns), -i);
  }
  EXPECT_EQ(queue.next_time_ns(), base::kNever);
}

}  // namespace
}  // namespace l3dml::sim
