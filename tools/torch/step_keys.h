// Keys for collectives that recur in every training step (tools/host/collective.h): a hash of the sizes of
// the last four. Gradient buckets come in the same order in every step, so the same bucket finds the same
// key, on every rank, without anybody saying where a step begins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace l3dml::pytorch {

class StepKeys {
 public:
  // The key of the next collective: `what` is its type and operation in one number.
  uint64_t next(uint64_t what, uint64_t count) {
    history_[position_++ % history_.size()] = mix(what ^ mix(count));
    uint64_t key = 0;
    for (size_t i = 0; i < history_.size(); ++i) key = mix(key ^ history_[(position_ + i) % history_.size()]);
    return key;
  }

 private:
  // splitmix64's finaliser (Steele, Lea, Flood 2014).
  static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::array<uint64_t, 4> history_{};
  size_t position_ = 0;
};

}  // namespace l3dml::pytorch
