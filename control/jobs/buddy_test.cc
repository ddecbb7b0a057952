#include "control/jobs/buddy.h"

#include <random>

#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

TEST(Buddy, gives_aligned_ranges_and_takes_them_back_whole) {
  Buddy buddy(64);
  EXPECT_EQ(buddy.allocate(8), 0u);
  EXPECT_EQ(buddy.allocate(32), 32u);
  EXPECT_EQ(buddy.allocate(8), 8u);
  EXPECT_EQ(buddy.allocate(32), std::nullopt);
  EXPECT_EQ(buddy.largest_free(), 16u);
  buddy.release(0, 8);
  buddy.release(8, 8);
  EXPECT_EQ(buddy.largest_free(), 32u);
  buddy.release(32, 32);
  EXPECT_EQ(buddy.largest_free(), 64u);
}

TEST(Buddy, reserves_what_a_store_remembers_and_refuses_overlap) {
  Buddy buddy(64);
  EXPECT_TRUE(buddy.reserve(48, 8));
  EXPECT_FALSE(buddy.reserve(48, 16));
  EXPECT_FALSE(buddy.reserve(4, 8)) << "not aligned";
  EXPECT_FALSE(buddy.reserve(0, 128)) << "larger than all";
  EXPECT_TRUE(buddy.reserve(56, 8));
  EXPECT_EQ(buddy.allocate(32), 0u);
  buddy.release(48, 8);
  buddy.release(56, 8);
  EXPECT_EQ(buddy.largest_free(), 32u);
}

TEST(Buddy, never_overlaps_under_random_use) {
  std::mt19937 random(7);
  Buddy buddy(1024);
  std::vector<int> owner(1024, -1);
  std::vector<std::pair<uint32_t, uint32_t>> held;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0) {
      const uint32_t length = 1u << random() % 8;
      const auto base = buddy.allocate(length);
      if (!base) continue;
      ASSERT_EQ(*base % length, 0u);
      for (uint32_t i = *base; i < *base + length; ++i) {
        ASSERT_EQ(owner[i], -1);
        owner[i] = step;
      }
      held.emplace_back(*base, length);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [base, length] = held.back();
      held.pop_back();
      buddy.release(base, length);
      for (uint32_t i = base; i < base + length; ++i) owner[i] = -1;
    }
  }
  for (const auto& [base, length] : held) buddy.release(base, length);
  EXPECT_EQ(buddy.largest_free(), 1024u);
  EXPECT_EQ(buddy.free_count(), 1024u);
}

}  // namespace
}  // namespace l3dml::control
