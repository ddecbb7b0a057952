#include "tools/host/chunk_split.h"

#include <gtest/gtest.h>

#include "tools/host/testing/test_bed.h"

namespace l3dml::host {
namespace {

std::vector<StripeConfig> stripes(std::vector<std::pair<double, uint32_t>> shares_and_lanes) {
  std::vector<StripeConfig> result;
  for (const auto& [share, lanes] : shares_and_lanes) {
    result.emplace_back().share = share;
    result.back().lanes = lanes;
  }
  return result;
}

// Which stripe carries each element; every element exactly once.
std::vector<int> owners(const ChunkSplit& split, std::span<const StripeConfig> all,
                        kernels::LaneFormat format, size_t count) {
  std::vector<int> owner(count, -1);
  for (unsigned s = 0; s < all.size(); ++s) {
    const ChunkLayout layout = split.layout(s, format);
    const size_t each = all[s].lanes * kernels::elements_per_lane(format);
    for (size_t cycle = 0; cycle < count; cycle += layout.stride ? layout.stride : count) {
      const size_t stop = layout.stride ? std::min(cycle + layout.stride, count) : count;
      const size_t chunks = layout.stride ? layout.starts.size() : (count + each - 1) / each;
      for (size_t i = 0; i < chunks; ++i) {
        const size_t from = cycle + (layout.stride ? layout.starts[i] : i * each);
        for (size_t e = from; e < std::min(from + each, stop); ++e) {
          EXPECT_EQ(owner[e], -1) << "element " << e << " twice";
          owner[e] = static_cast<int>(s);
        }
      }
    }
  }
  return owner;
}

TEST(ChunkSplit, deals_every_element_once_and_by_share) {
  const auto all = stripes({{0.5, 256}, {0.25, 256}, {0.25, 64}});
  const ChunkSplit split(all);
  for (const auto format : {kernels::LaneFormat::kFixed32, kernels::LaneFormat::kFixed8x4}) {
    const size_t count = 1'000'003;
    const auto owner = owners(split, all, format, count);
    EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
    EXPECT_NEAR(static_cast<double>(std::count(owner.begin(), owner.end(), 0)) / count, 0.5, 0.03);
    EXPECT_NEAR(static_cast<double>(std::count(owner.begin(), owner.end(), 2)) / count, 0.25, 0.03);
  }
}

TEST(ChunkSplit, one_stripe_takes_chunk_after_chunk) {
  const auto all = stripes({{1, 256}});
  const ChunkSplit split(all);
  EXPECT_EQ(split.layout(0, kernels::LaneFormat::kFixed32).stride, 0u);
}

// Two stripes, each with an aggregator of its own, sum one tensor; what was not begun is dealt anew by other
// shares.
TEST(ChunkSplit, stripes_sum_one_tensor_and_shares_change_where_nothing_is_begun) {
  const testing::BedOptions options{.world = 2, .window = 8, .first_number = 4096, .loss = 0.02};
  testing::TestBed beds[2] = {testing::TestBed(options), testing::TestBed(options)};
  auto all = stripes({{1, 64}, {3, 64}});
  std::vector<std::vector<int32_t>> x(2, std::vector<int32_t>(64 * 100 + 5)), y = x;
  for (size_t i = 0; i < x[0].size(); ++i) {
    x[0][i] = y[0][i] = static_cast<int32_t>(i);
    x[1][i] = y[1][i] = static_cast<int32_t>(2 * i);
  }
  const auto submit = [&](const ChunkSplit& split, std::vector<std::vector<int32_t>>& tensors, uint64_t id) {
    for (unsigned stripe = 0; stripe < 2; ++stripe) {
      for (unsigned rank = 0; rank < 2; ++rank) {
        Collective c;
        c.id = id;
        c.input = c.output = tensors[rank].data();
        c.count = tensors[rank].size();
        c.type = kernels::ElementType::kInt32;
        c.layout = split.layout(stripe, kernels::LaneFormat::kFixed32);
        ASSERT_TRUE(beds[stripe].worker(rank).submit(c).ok());
      }
    }
  };
  const ChunkSplit before(all);
  for (auto& bed : beds)
    for (unsigned rank = 0; rank < 2; ++rank) bed.worker(rank).set_stop_before(1);
  submit(before, x, 0);
  submit(before, y, 1);
  for (auto& bed : beds) {
    EXPECT_FALSE(bed.run(base::kSecond)) << "the second is not begun";
    EXPECT_EQ(bed.results(0).size(), 1u);
  }
  all[0].share = 7;
  const ChunkSplit after(all);
  for (auto& bed : beds) {
    for (unsigned rank = 0; rank < 2; ++rank) {
      EXPECT_FALSE(bed.worker(rank).withdraw().ok()) << "not paused";
      bed.worker(rank).pause();
      ASSERT_TRUE(bed.worker(rank).withdraw().ok());
      EXPECT_TRUE(bed.worker(rank).idle());
    }
  }
  submit(after, y, 1);
  testing::BedOptions next = options;
  next.epoch = 2;
  next.first_number = 8192;
  uint64_t chunks[2];
  for (unsigned stripe = 0; stripe < 2; ++stripe) {
    testing::TestBed& bed = beds[stripe];
    const uint64_t so_far = bed.worker(0).stats().chunks;
    bed.new_epoch(next);
    for (unsigned rank = 0; rank < 2; ++rank) {
      ASSERT_TRUE(bed.worker(rank).resume(testing::make_stripe(next, rank)).ok());
      bed.worker(rank).set_stop_before(std::nullopt);
    }
    ASSERT_TRUE(bed.run());
    chunks[stripe] = bed.worker(0).stats().chunks - so_far;
    EXPECT_EQ(bed.results(0).size(), 2u);
  }
  EXPECT_NEAR(static_cast<double>(chunks[0]), 70, 3);
  EXPECT_EQ(chunks[0] + chunks[1], 101u);
  for (const auto& tensors : {x, y})
    for (const auto& rank : tensors)
      for (size_t i = 0; i < rank.size(); ++i) ASSERT_EQ(rank[i], static_cast<int32_t>(3 * i));
}

}  // namespace
}  // namespace l3dml::host
