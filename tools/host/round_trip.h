// Estimators of time: segment round trips as in RFC 6298, and the least time a result takes, a minimum over
// the last hundreds of results, since stragglers stretch results and say nothing about the network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "dataplane/base/clock.h"

namespace l3dml::host {

class RoundTrip {
 public:
  // One sample at most doubles the time-out: an answer may be as old as some forgotten queue made it.
  void sample(int64_t rtt_ns) {
    rtt_ns = std::min(rtt_ns, 2 * timeout_ns());
    if (!known()) {
      smoothed_ns_ = rtt_ns;
      variation_ns_ = rtt_ns / 2;
    } else {
      variation_ns_ += (std::abs(smoothed_ns_ - rtt_ns) - variation_ns_) / 4;
      smoothed_ns_ += (rtt_ns - smoothed_ns_) / 8;
    }
  }
  bool known() const { return smoothed_ns_ > 0; }
  int64_t smoothed_ns() const { return smoothed_ns_; }
  int64_t variation_ns() const { return variation_ns_; }
  int64_t timeout_ns() const {  // RFC 6298: one second until measured; G is what a sleeping thread can do
    return known() ? smoothed_ns_ + std::max(base::kMillisecond, 4 * variation_ns_) : base::kSecond;
  }

 private:
  int64_t smoothed_ns_ = 0, variation_ns_ = 0;
};

class LeastTime {
 public:
  void sample(int64_t time_ns) {
    current_ns_ = std::min(current_ns_, time_ns);
    if (++count_ == kWindow) {
      previous_ns_ = current_ns_;
      current_ns_ = base::kNever;
      count_ = 0;
    }
  }
  bool known() const { return std::min(current_ns_, previous_ns_) != base::kNever; }
  int64_t least_ns() const { return std::min(current_ns_, previous_ns_); }

 private:
  static constexpr int kWindow = 256;  // samples; the minimum covers one to two windows
  int64_t current_ns_ = base::kNever, previous_ns_ = base::kNever;
  int count_ = 0;
};

}  // namespace l3dml::host
