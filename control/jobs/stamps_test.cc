#include "control/jobs/stamps.h"

#include <gtest/gtest.h>

namespace l3dml::control {
namespace {

TEST(Stamps, first_number_is_the_next_multiple_beyond_all_ranges) {
  const std::vector<Stamps> ranges = {{true, 0, 100}, {true, 40, 70}};
  const FirstNumber first = choose_first_number(ranges, 64, 90);
  EXPECT_EQ(first.number, 128u);
  EXPECT_EQ(first.overwrite, (std::vector<bool>{false, false}));
}

TEST(Stamps, first_number_is_never_zero) { EXPECT_EQ(choose_first_number({}, 64, 0xffffffffu).number, 64u); }

TEST(Stamps, overwrites_a_range_whose_oldest_stamp_is_out_of_reach) {
  const std::vector<Stamps> ranges = {{true, 0, 0x50000000}, {true, 0x4fffffff, 0x50000000}, {false, 0, 0}};
  const FirstNumber first = choose_first_number(ranges, 64, 0x50000000);
  EXPECT_EQ(first.overwrite, (std::vector<bool>{true, false, true}));
}

TEST(Stamps, an_epoch_leaves_old_stamps_until_every_entry_was_passed) {
  const Stamps before{true, 0, 0};
  EXPECT_EQ(after_epoch(before, 64, 64 + 62, 64 + 100, 64).oldest, 0u);
  EXPECT_EQ(after_epoch(before, 64, 64 + 63, 64 + 100, 64).oldest, 64u);
  EXPECT_EQ(after_epoch(before, 64, 63, 64 + 100, 64).newest, 164u);
}

}  // namespace
}  // namespace l3dml::control
