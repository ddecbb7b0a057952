// How fast a stripe may send: a token bucket filled at a rate that congestion marks lower below the
// controller's ceiling. Once per round the rate falls by half the smoothed share of marked results (RFC
// 8257), or grows by a fixed part of the ceiling, so that jobs with equal ceilings converge to equal rates.
// Random loss changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace l3dml::host {

class Pacer {
 public:
  explicit Pacer(uint64_t ceiling_bps);

  void refill(int64_t now_ns);
  bool may_send() const { return unlimited() || tokens_ > 0; }
  void spend(size_t bytes);
  // When enough has come together for a burst that is worth waking up for.
  int64_t next_ns() const;

  // The result of what was sent at sent_ns arrived; `round_ns` is how long one takes. What was sent before
  // the rate last fell cannot know of it and does not count.
  void on_result(bool marked, int64_t sent_ns, int64_t now_ns, int64_t round_ns);

  uint64_t rate_bps() const { return static_cast<uint64_t>(rate_bps_); }
  // Time that `bytes` take at the present rate.
  int64_t time_of(size_t bytes) const;

 private:
  bool unlimited() const { return ceiling_bps_ == 0 && rate_bps_ >= kUnlimited; }
  double burst() const;    // bytes that may go at once
  double quantum() const;  // bytes worth waking up for
  void end_round(int64_t now_ns);

  static constexpr double kUnlimited = 1e12;
  double ceiling_bps_;  // 0: none
  double rate_bps_;
  double tokens_ = 0;      // bytes; negative: ahead of the rate
  int64_t filled_ns_ = 0;  // when tokens_ was right
  bool started_ = false;

  double congestion_ = 1;  // smoothed share of marked results
  int64_t round_start_ns_ = 0, last_result_ns_ = -(int64_t{1} << 62);
  int64_t fell_ns_ = -(int64_t{1} << 62);                // when the rate last fell
  uint64_t results_ = 0, marked_ = 0, spent_bytes_ = 0;  // in this round
};

}  // namespace l3dml::host
