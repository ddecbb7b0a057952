#include "tools/host/chunk_split.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace l3dml::host
