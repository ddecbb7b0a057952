#include "tools/gen/histogram.h"

#include <algorithm>
#include <cmath>

namespace l3dml::gen {

void Histogram::add(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

uint64_t Histogram::highest(size_t bucket) {
  if (bucket < 2 * kSub) return bucket;
  const auto shift = static_cast<unsigned>(bucket >> kSubBits) - 1;
  return ((bucket - (uint64_t{shift} << kSubBits) + 1) << shift) - 1;
}

int64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double rank = std::ceil(std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_));
  const auto wanted = std::max<uint64_t>(1, static_cast<uint64_t>(rank));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) return static_cast<int64_t>(std::clamp(highest(i), min_, max_));
  }
  return max();
}

std::vector<std::pair<double, int64_t>> Histogram::curve() const {
  std::vector<std::pair<double, int64_t>> points;
  if (count_ == 0) return points;
  points.emplace_back(0, min());
  for (double rest = 50; rest * static_cast<double>(count_) >= 50; rest /= 2)
    points.emplace_back(100 - rest, percentile(100 - rest));
  points.emplace_back(100, max());
  return points;
}

}  // namespace l3dml::gen
