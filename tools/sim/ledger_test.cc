#include "tools/sim/ledger.h"

#include <cstring>

#include <gtest/gtest.h>

namespace l3dml::sim {
namespace {

// Two members under one root, window 2, four slots, 64 lanes.
class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : ledger_(shape(), tree()) {}

  static Ledger::Shape shape() { return {7, 1, 8, 2, 4, 64, {0, 1}}; }
  static Tree tree() {
    Tree tree;
    tree.aggregators.push_back({0, -1, 0, {{true, 0}, {true, 1}}});
    tree.places = {{0, 0}, {0, 1}};
    return tree;
  }
  Frame frame(wire::Type type, uint32_t number, uint32_t lane, uint16_t weight, uint8_t exp = 100) {
    head_ = {};
    head_.l3dml.set_type(type);
    head_.l3dml.number.set(number);
    head_.l3dml.weight.set(weight);
    head_.l3dml.exp = exp;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t big = __builtin_bswap32(lane + static_cast<uint32_t>(i));
      std::memcpy(lanes_ + 4 * i, &big, 4);
    }
    return {&head_, lanes_, 64};
  }
  std::string name(const Ledger::Check& check) { return check ? check->name : ""; }
  std::string up(uint32_t member, uint32_t number, uint32_t lane, uint8_t exp = 100) {
    return name(ledger_.member_sends(member, frame(wire::Type::up, number, lane, 1, exp)));
  }
  std::string down(uint32_t number, uint32_t lane, uint16_t weight) {  // the sum of `lane` twice
    Frame f = frame(wire::Type::down, number, 0, weight);
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t big = __builtin_bswap32(lane + 2 * static_cast<uint32_t>(i));
      std::memcpy(lanes_ + 4 * i, &big, 4);
    }
    return name(ledger_.aggregator_sends(0, f));
  }
  void finish(uint32_t number) {
    EXPECT_EQ(up(0, number, 5), "");
    EXPECT_EQ(up(1, number, 6), "");
    EXPECT_EQ(down(number, 11, 2), "");
    for (uint32_t member : {0, 1}) EXPECT_EQ(name(ledger_.member_holds(member, number)), "");
  }

  wire::Head head_;
  uint8_t lanes_[256];
  Ledger ledger_;
};

TEST_F(LedgerTest, accepts_an_exact_sum_and_its_repetition) {
  finish(8);
  EXPECT_EQ(up(0, 8, 5), "");
  EXPECT_EQ(down(8, 11, 2), "");
}

TEST_F(LedgerTest, finds_a_wrong_sum_weight_and_a_sum_too_early) {
  EXPECT_EQ(up(0, 8, 5), "");
  EXPECT_EQ(down(8, 5, 1), "exact_sum");
  EXPECT_EQ(up(1, 8, 6), "");
  EXPECT_EQ(down(8, 12, 2), "exact_sum");
  EXPECT_EQ(down(8, 11, 3), "each_contribution_once");
}

TEST_F(LedgerTest, finds_other_lanes_and_another_exponent_when_sent_again) {
  EXPECT_EQ(up(0, 8, 5), "");
  EXPECT_EQ(up(0, 8, 6), "no_freed_retransmission");
  EXPECT_EQ(up(0, 8, 5, 101), "same_exponent");
  EXPECT_EQ(up(1, 8, 6, 99), "same_exponent");
}

TEST_F(LedgerTest, finds_a_number_sent_before_the_last_one_of_its_position_is_held) {
  EXPECT_EQ(up(0, 8, 5), "");
  EXPECT_EQ(up(0, 10, 5), "window");
}

TEST_F(LedgerTest, finds_a_number_left_out) { EXPECT_EQ(up(0, 10, 5), "numbers_in_order"); }

TEST_F(LedgerTest, finds_a_result_nobody_sent_or_taken_twice) {
  EXPECT_EQ(name(ledger_.member_holds(0, 8)), "exact_sum");
  finish(8);
  EXPECT_EQ(name(ledger_.member_holds(0, 8)), "each_contribution_once");
}

TEST_F(LedgerTest, lane_hash_is_linear_over_wrapping_sums) {
  uint8_t a[256], b[256], sum[256];
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t x = 0xfffffff0u + i * 77, y = i * 0x01234567u;
    const uint32_t big[3] = {__builtin_bswap32(x), __builtin_bswap32(y), __builtin_bswap32(x + y)};
    std::memcpy(a + 4 * i, &big[0], 4);
    std::memcpy(b + 4 * i, &big[1], 4);
    std::memcpy(sum + 4 * i, &big[2], 4);
  }
  EXPECT_EQ(lane_hash(sum, 64), lane_hash(a, 64) + lane_hash(b, 64));
}

}  // namespace
}  // namespace l3dml::sim
