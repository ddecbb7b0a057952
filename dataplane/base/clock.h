// Time. Everything that needs "now" is handed it or a Clock, so that the simulator and tests own time.
// Unit: nanoseconds since an arbitrary start, signed 64 bits.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace l3dml::base {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() const = 0;
};

class MonotonicClock final : public Clock {
 public:
  int64_t now_ns() const override {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * kSecond + t.tv_nsec;
  }
};

class ManualClock final : public Clock {
 public:
  int64_t now_ns() const override { return now_ns_; }
  void set(int64_t now_ns) { now_ns_ = now_ns; }
  void advance(int64_t by_ns) { now_ns_ += by_ns; }

 private:
  int64_t now_ns_ = 0;  // nanoseconds
};

}  // namespace l3dml::base
