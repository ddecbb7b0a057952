// Randomness of a scenario: xoshiro256** seeded by splitmix64 (Blackman, Vigna). Small, fast, the same
// everywhere, so that a seed means the same scenario on every machine. Each part of a scenario forks its own
// stream: a change in how one part draws does not shift the others.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace l3dml::sim {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = splitmix(seed);
  }
  Random fork(uint64_t stream) {
    uint64_t seed = state_[0] ^ (stream * 0x9e3779b97f4a7c15u);
    return Random(splitmix(seed));
  }

  uint64_t next() {
    const uint64_t result = rotl(state_[1] * 5, 7) * 9, t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }
  // Uniform in [0, bound), bound > 0 (Lemire's multiplication; the bias of 2^-32 does not matter here).
  uint32_t below(uint32_t bound) {
    return static_cast<uint32_t>((next() >> 32) * static_cast<uint64_t>(bound) >> 32);
  }
  int64_t between(int64_t low, int64_t high) {  // both ends included
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  bool chance(double probability) { return probability > 0 && uniform() < probability; }
  // 2^x with x uniform: sizes and delays spread over orders of magnitude.
  double log_uniform(double low, double high) { return low * std::exp2(uniform() * std::log2(high / low)); }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<uint32_t>(choices.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(static_cast<uint32_t>(i))]);
  }

 private:
  static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }
  static uint64_t splitmix(uint64_t& seed) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  uint64_t state_[4];
};

}  // namespace l3dml::sim
