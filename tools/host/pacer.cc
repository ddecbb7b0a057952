#include "tools/host/pacer.h"

#include <algorithm>
#include <cmath>

#include "dataplane/base/clock.h"

namespace l3dml::host {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kBurstNs = 8e6;    // a thread that slept too long may catch up with so much
constexpr double kQuantumNs = 1e6;  // smaller bursts are not worth a wake-up
constexpr double kLargestQuantum = 64 << 10, kSmallestBurst = 4 << 10;  // bytes
constexpr double kGain = 1.0 / 16;                                      // of the smoothed share of marks
constexpr double kStep = 1.0 / 32;   // of the ceiling, per round without marks
constexpr double kFloor = 1.0 / 64;  // of the ceiling

}  // namespace

Pacer::Pacer(uint64_t ceiling_bps)
    : ceiling_bps_(static_cast<double>(ceiling_bps)), rate_bps_(ceiling_bps ? ceiling_bps_ : kUnlimited) {}

double Pacer::burst() const {
  return std::max({kSmallestBurst, 2 * quantum(), rate_bps_ * kBurstNs / (kBitsPerByte * base::kSecond)});
}

double Pacer::quantum() const {
  return std::min(kLargestQuantum, rate_bps_ * kQuantumNs / (kBitsPerByte * base::kSecond));
}

void Pacer::refill(int64_t now_ns) {
  if (!started_) {
    started_ = true;
    tokens_ = quantum();  // a whole burst is for threads that slept; to begin with one only fills queues
  } else if (now_ns > filled_ns_) {
    const double gained =
        static_cast<double>(now_ns - filled_ns_) * rate_bps_ / (kBitsPerByte * base::kSecond);
    tokens_ = std::min(burst(), tokens_ + gained);
  }
  filled_ns_ = std::max(filled_ns_, now_ns);
}

void Pacer::spend(size_t bytes) {
  tokens_ -= static_cast<double>(bytes);
  spent_bytes_ += bytes;
}

int64_t Pacer::time_of(size_t bytes) const {
  return static_cast<int64_t>(static_cast<double>(bytes) * kBitsPerByte * base::kSecond / rate_bps_);
}

int64_t Pacer::next_ns() const {
  if (may_send()) return filled_ns_;
  const double wanted = quantum() - tokens_;
  return filled_ns_ + 1 + static_cast<int64_t>(std::ceil(wanted * kBitsPerByte * base::kSecond / rate_bps_));
}

void Pacer::on_result(bool marked, int64_t sent_ns, int64_t now_ns, int64_t round_ns) {
  // A round begins anew after a pause, which says nothing about the path, and when the results of the last
  // fall's time are through.
  const bool before_fall = sent_ns < fell_ns_;
  if (before_fall || now_ns - last_result_ns_ > 2 * round_ns) {
    round_start_ns_ = now_ns;
    results_ = marked_ = spent_bytes_ = 0;
  }
  last_result_ns_ = now_ns;
  if (before_fall) return;
  ++results_;
  marked_ += marked;
  if (now_ns - round_start_ns_ >= round_ns) end_round(now_ns);
}

void Pacer::end_round(int64_t now_ns) {
  const double share = static_cast<double>(marked_) / static_cast<double>(results_);
  congestion_ += (share - congestion_) * kGain;
  if (marked_) {
    // What was really sent counts, not what might have been.
    const double elapsed = static_cast<double>(now_ns - round_start_ns_);
    const double sent_bps = static_cast<double>(spent_bytes_) * kBitsPerByte * base::kSecond / elapsed;
    rate_bps_ = std::min(rate_bps_, std::max(sent_bps * 1.25, rate_bps_ / 2)) * (1 - congestion_ / 2);
    const double floor = ceiling_bps_ > 0 ? ceiling_bps_ * kFloor : 1e6;
    rate_bps_ = std::max(rate_bps_, floor);
    fell_ns_ = now_ns;
  } else if (ceiling_bps_ > 0) {
    rate_bps_ = std::min(ceiling_bps_, rate_bps_ + ceiling_bps_ * kStep);
  } else {
    rate_bps_ = std::min(kUnlimited, rate_bps_ * (1 + kStep));
  }
  tokens_ = std::min(tokens_, burst());
  round_start_ns_ = now_ns;
  results_ = marked_ = spent_bytes_ = 0;
}

}  // namespace l3dml::host
