#include "tools/host/exponent_history.h"

#include <gtest/gtest.h>

namespace l3dml::host {
namespace {

Collective collective(uint64_t key, kernels::LaneFormat format = kernels::LaneFormat::kFixed32) {
  Collective c;
  c.key = key;
  c.count = 1000;
  c.format = format;
  return c;
}

// Finishes all chunks of a record alike.
void fill(ExponentRecord& record, uint8_t sum_exp, uint8_t asked_exp) {
  for (uint32_t i = 0; i < record.chunks(); ++i) record.add(i, sum_exp, asked_exp);
}

TEST(ExponentHistory, knows_nothing_of_a_new_key) {
  ExponentHistory history;
  std::shared_ptr<ExponentRecord> previous;
  history.open(collective(1), 10, &previous);
  EXPECT_EQ(previous, nullptr);
  history.open(collective(2), 10, &previous);
  EXPECT_EQ(previous, nullptr);
  history.open(collective(1), 10, &previous);
  EXPECT_NE(previous, nullptr);
}

TEST(ExponentHistory, predicts_block_by_block_when_all_of_a_block_is_held) {
  ExponentHistory history;
  std::shared_ptr<ExponentRecord> previous;
  const auto record = history.open(collective(1), kBlockChunks + 1, &previous);
  EXPECT_EQ(record->predict(0).known, ExponentRecord::Known::not_yet);
  for (uint32_t i = 0; i + 1 < kBlockChunks; ++i) EXPECT_FALSE(record->add(i, 100, 102));
  EXPECT_EQ(record->predict(0).known, ExponentRecord::Known::not_yet);
  EXPECT_TRUE(record->add(kBlockChunks - 1, 104, 103));
  EXPECT_EQ(record->predict(0).known, ExponentRecord::Known::yes);
  EXPECT_EQ(record->predict(5).exp, 104 + 3) << "the largest of the block, and fixed32's margin";
  EXPECT_EQ(record->predict(kBlockChunks).known, ExponentRecord::Known::not_yet);
  EXPECT_TRUE(record->add_unknown(kBlockChunks));
  EXPECT_EQ(record->predict(kBlockChunks).known, ExponentRecord::Known::no);
}

// Summands may cancel: what was asked for once tells how much larger they are than their sum.
TEST(ExponentHistory, remembers_how_much_larger_summands_are_than_sums) {
  ExponentHistory history;
  std::shared_ptr<ExponentRecord> previous;
  fill(*history.open(collective(1), 4, &previous), 90, 110);
  const auto second = history.open(collective(1), 4, &previous);
  EXPECT_EQ(previous->predict(0).exp, 110 + 3);
  fill(*second, 91, 0);
  history.open(collective(1), 4, &previous);
  EXPECT_EQ(previous->predict(0).exp, 91 + 20 + 3);
}

TEST(ExponentHistory, widens_the_margin_when_a_chunk_did_not_fit_and_narrows_it_in_calm) {
  ExponentHistory history;
  std::shared_ptr<ExponentRecord> previous;
  const auto step = [&](uint8_t sum, uint8_t asked) {
    const auto record = history.open(collective(1, kernels::LaneFormat::kFixed8x4), 1, &previous);
    record->add(0, sum, asked);
    return record->predict(0).exp - sum;
  };
  EXPECT_EQ(step(100, 100), 1);
  EXPECT_EQ(step(100, 0), 1);
  EXPECT_EQ(step(103, 103), 2) << "did not fit";
  EXPECT_EQ(step(103, 0), 2);
  int margin = 2;
  for (int i = 0; i < 40; ++i) margin = step(103, 0);
  EXPECT_EQ(margin, 1);
}

TEST(ExponentHistory, chunks_of_zeros_keep_what_was_predicted) {
  ExponentHistory history;
  std::shared_ptr<ExponentRecord> previous;
  fill(*history.open(collective(1), 4, &previous), 100, 100);
  fill(*history.open(collective(1), 4, &previous), kernels::kExpMin, 0);
  history.open(collective(1), 4, &previous);
  EXPECT_EQ(previous->predict(2).exp, 103);
}

}  // namespace
}  // namespace l3dml::host
