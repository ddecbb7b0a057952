#include "tools/gen/histogram.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace l3dml::gen {
namespace {

TEST(Histogram, small_values_are_exact) {
  Histogram h;
  for (int64_t v = 1; v <= 100; ++v) h.record(v);
  EXPECT_EQ(h.percentile(50), 50);
  EXPECT_EQ(h.percentile(99), 99);
  EXPECT_EQ(h.percentile(100), 100);
  EXPECT_EQ(h.min(), 1);
  EXPECT_EQ(h.max(), 100);
}

TEST(Histogram, percentiles_are_those_of_the_sorted_values_to_a_64th) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(9, 3);  // nanoseconds to seconds
  std::vector<int64_t> values;
  Histogram h;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(static_cast<int64_t>(latency(random)));
    h.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto exact =
        static_cast<double>(values[static_cast<size_t>(std::ceil(percent / 100 * 50'000)) - 1]);
    EXPECT_GE(h.percentile(percent), static_cast<int64_t>(exact)) << percent;
    EXPECT_LE(static_cast<double>(h.percentile(percent)), exact * (1 + 1.0 / 64) + 1) << percent;
  }
  EXPECT_EQ(h.percentile(100), values.back());
}

TEST(Histogram, holds_the_whole_range) {
  Histogram h;
  h.record(-5);
  h.record(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(h.count(), 2u);
  EXPECT_EQ(h.min(), 0);
  EXPECT_EQ(h.percentile(100), std::numeric_limits<int64_t>::max());
}

TEST(Histogram, sums_of_histograms_are_the_histogram_of_all) {
  Histogram a, b, all;
  for (int64_t v = 0; v < 10'000; ++v) {
    (v % 3 ? a : b).record(v * v);
    all.record(v * v);
  }
  a.add(b);
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.curve(), all.curve());
  EXPECT_EQ(a.min(), 0);
}

TEST(Histogram, curve_ends_at_the_maximum) {
  Histogram h;
  EXPECT_TRUE(h.curve().empty());
  for (int64_t v = 1; v <= 1024; ++v) h.record(v);
  const auto curve = h.curve();
  EXPECT_EQ(curve.front(), (std::pair<double, int64_t>(0, 1)));
  EXPECT_EQ(curve[1], (std::pair<double, int64_t>(50, h.percentile(50))));
  EXPECT_EQ(curve.back(), (std::pair<double, int64_t>(100, 1024)));
  for (size_t i = 1; i < curve.size(); ++i) EXPECT_GE(curve[i].second, curve[i - 1].second);
}

}  // namespace
}  // namespace l3dml::gen
