#include "tools/torch/step_keys.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tools/torch/residuals.h"

namespace l3dml::pytorch {
namespace {

TEST(StepKeys, buckets_find_their_key_again_in_every_step) {
  StepKeys keys;
  const std::vector<uint64_t> sizes = {1000, 250000, 250000, 77};
  std::vector<uint64_t> first;
  for (int step = 0; step < 10; ++step)
    for (size_t i = 0; i < sizes.size(); ++i) {
      const uint64_t key = keys.next(0, sizes[i]);
      if (step == 3) first.push_back(key);
      EXPECT_TRUE(step <= 3 || key == first[i]);
    }
  EXPECT_EQ(std::set<uint64_t>(first.begin(), first.end()).size(), sizes.size())
      << "equal sizes, different places";
}

TEST(StepKeys, same_calls_same_keys_on_every_rank) {
  StepKeys a, b;
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(a.next(i % 3, i * i % 7), b.next(i % 3, i * i % 7));
}

TEST(StepKeys, type_and_operation_count) {
  StepKeys a, b;
  EXPECT_NE(a.next(0, 5), b.next(1, 5));
}

TEST(Residuals, come_back_with_what_was_left_in_them) {
  Residuals residuals;
  {
    const Residuals::Loan loan = residuals.lend(1, 4);
    ASSERT_TRUE(loan);
    EXPECT_EQ((*loan)[3], 0);
    (*loan)[3] = 2.5f;
    EXPECT_FALSE(residuals.lend(1, 4)) << "one at a time";
    EXPECT_TRUE(residuals.lend(2, 4));
  }
  const Residuals::Loan again = residuals.lend(1, 4);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[3], 2.5f);
}

TEST(Residuals, another_size_starts_from_zero) {
  Residuals residuals;
  (*residuals.lend(1, 4))[0] = 1;
  const Residuals::Loan loan = residuals.lend(1, 5);
  ASSERT_TRUE(loan);
  EXPECT_EQ(loan->size(), 5u);
  EXPECT_EQ((*loan)[0], 0);
}

TEST(Residuals, sizes_that_never_come_back_do_not_fill_the_memory) {
  Residuals residuals;
  for (uint64_t key = 0; key < 100'000; ++key)
    ASSERT_TRUE(residuals.lend(key, 1000));  // 400 MB if all were kept
}

}  // namespace
}  // namespace l3dml::pytorch
