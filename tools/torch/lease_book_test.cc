#include "tools/torch/lease_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace l3dml::pytorch {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kExpiry = 5 * kSecond;

TEST(LeaseBook, nobody_is_lost_while_leases_change) {
  LeaseBook book(0, 3, kExpiry, 0);
  for (int64_t t = 1; t < 100; ++t) {
    book.observe(1, "alive " + std::to_string(t) + " 11 a", t * kSecond);
    book.observe(2, "alive " + std::to_string(t) + " 12 b", t * kSecond);
    ASSERT_FALSE(book.lost(t * kSecond));
  }
}

TEST(LeaseBook, names_rank_process_and_host_of_a_lease_that_stands_still) {
  LeaseBook book(0, 3, kExpiry, 0);
  for (int64_t t = 1; t <= 6; ++t) {
    book.observe(1, "alive " + std::to_string(t) + " 11 a", t * kSecond);
    book.observe(2, "alive 7 4711 gpu-2.example", t * kSecond);
  }
  EXPECT_FALSE(book.lost(6 * kSecond - 1));
  EXPECT_THAT(book.lost(6 * kSecond).value_or(""),
              testing::AllOf(testing::HasSubstr("rank 2 (pid 4711 on gpu-2.example) is gone"),
                             testing::HasSubstr("5.0 s")));
}

TEST(LeaseBook, own_lease_does_not_count) {
  LeaseBook book(1, 2, kExpiry, 0);
  book.observe(0, "alive 1 11 a", kExpiry);
  EXPECT_FALSE(book.lost(kExpiry + kSecond));
}

TEST(LeaseBook, a_rank_that_never_came_is_lost) {
  LeaseBook book(0, 2, kExpiry, 0);
  book.observe(1, "", kSecond);
  EXPECT_THAT(book.lost(kExpiry).value_or(""), testing::HasSubstr("rank 1 never appeared"));
}

TEST(LeaseBook, a_rank_that_left_is_lost_as_late_as_one_that_died_but_by_another_word) {
  LeaseBook book(0, 2, kExpiry, 0);
  book.observe(1, "left 9 11 a", kSecond);
  EXPECT_FALSE(book.lost(kExpiry));
  EXPECT_THAT(book.lost(kSecond + kExpiry).value_or(""),
              testing::HasSubstr("rank 1 (pid 11 on a) has left the group"));
}

TEST(LeaseBook, time_in_which_we_did_not_look_is_nobodys_fault) {
  LeaseBook book(0, 2, kExpiry, 0);
  book.observe(1, "alive 1 11 a", kSecond);
  book.forgive(100 * kSecond);
  EXPECT_FALSE(book.lost(100 * kSecond));
  EXPECT_TRUE(book.lost(100 * kSecond + kExpiry));
}

TEST(LeaseBook, all_are_closing_once_each_has_said_so) {
  LeaseBook book(1, 3, kExpiry, 0);
  EXPECT_FALSE(book.all_closing());
  book.observe(0, "closing 3 11 a", kSecond);
  book.observe(2, "alive 3 12 a", kSecond);
  EXPECT_FALSE(book.all_closing());
  book.observe(2, "left 4 12 a", kSecond);
  EXPECT_TRUE(book.all_closing());
}

TEST(LeaseBook, who_is_lost_keeps_nobody_from_closing_where_others_judge_that) {
  LeaseBook book(1, 3, kExpiry, 0);
  book.observe(0, "closing 3 11 a", kSecond);
  book.observe(2, "alive 3 12 a", kSecond);
  EXPECT_FALSE(book.all_closing_or_lost(kExpiry));
  EXPECT_TRUE(book.all_closing_or_lost(kSecond + kExpiry));
  EXPECT_FALSE(book.all_closing());
}

TEST(LeaseBook, written_leases_are_understood) {
  LeaseBook book(0, 2, kExpiry, 0);
  book.observe(1, format_lease(LeaseState::closing, 1), kSecond);
  EXPECT_TRUE(book.all_closing());
  EXPECT_NE(format_lease(LeaseState::alive, 1), format_lease(LeaseState::alive, 2));
}

}  // namespace
}  // namespace l3dml::pytorch
