// Latencies in log-linear buckets, as HdrHistogram keeps them: 64 buckets per power of two, so that every
// value is told to 1.6 % over the whole range of 63 bits in a fixed 29 KiB, and recording is one increment.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace l3dml::gen {

class Histogram {
 public:
  // Values below 0 (a clock that was read before) count as 0.
  void record(int64_t value, uint64_t times = 1) {
    const uint64_t v = value > 0 ? static_cast<uint64_t>(value) : 0;
    counts_[bucket(v)] += times;
    count_ += times;
    if (v > max_) max_ = v;
    if (v < min_) min_ = v;
  }
  void add(const Histogram& other);
  void clear() { *this = {}; }

  uint64_t count() const { return count_; }
  int64_t min() const { return count_ ? static_cast<int64_t>(min_) : 0; }
  int64_t max() const { return static_cast<int64_t>(max_); }
  // The value that `percent` of the records do not exceed (to the width of a bucket, never above max()).
  int64_t percentile(double percent) const;
  // (percent, value) at 0, 50, 75, 87.5, ...: the usual axis of a latency plot.
  std::vector<std::pair<double, int64_t>> curve() const;

 private:
  static constexpr unsigned kSubBits = 6;  // 64 buckets per octave
  static constexpr uint64_t kSub = uint64_t{1} << kSubBits;
  static constexpr size_t kBuckets = (64 - kSubBits) * kSub;

  static size_t bucket(uint64_t value) {
    if (value < kSub) return static_cast<size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
    return static_cast<size_t>((uint64_t{shift} << kSubBits) + (value >> shift));
  }
  static uint64_t highest(size_t bucket);  // value in it

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0, max_ = 0, min_ = ~uint64_t{0};
};

}  // namespace l3dml::gen
