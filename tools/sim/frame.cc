#include "tools/sim/frame.h"

#include <array>
#include <cstring>

namespace l3dml::sim {
namespace {

constexpr auto kCoefficients = [] {
  std::array<uint32_t, base::kMaxLanes> result{};
  uint32_t x = 0x9e3779b9u;
  for (uint32_t& c : result) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    c = x | 1;
  }
  return result;
}();

}  // namespace

#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
uint32_t
lane_hash(const uint8_t* lanes, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t lane;
    std::memcpy(&lane, lanes + 4 * i, 4);
    sum += __builtin_bswap32(lane) * kCoefficients[i];
  }
  return sum;
}

}  // namespace l3dml::sim
