// The arithmetic on lanes: pure functions on arrays, one implementation per instruction set, chosen at start.
// The scalar file is the specification; kernelcheck (lanes_test) compares every other one with it.
//
// Slots hold 32-bit lanes in host order; packets hold them big-endian. Contract of every function: any count
// including 0 and odd ones, no alignment needed, `slot` and `lanes` do not overlap, nothing beyond count is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace l3dml::kernels {

struct LaneKernels {
  std::string_view name;  // "scalar", "avx2", "avx512"
  // slot[i] = lanes[i]
  void (*set)(uint32_t* slot, const uint8_t* lanes, size_t count);
  // slot[i] += lanes[i] (wrapping)
  void (*add)(uint32_t* slot, const uint8_t* lanes, size_t count);
  // slot[i] += lanes[i]; lanes[i] = slot[i]: the packet that completes a slot leaves with the sum in it.
  // Returns the ones' complement sum of the bytes left in lanes, folded to 16 bits (RFC 1071), in wire order.
  uint16_t (*add_and_emit)(uint32_t* slot, uint8_t* lanes, size_t count);
  // lanes[i] = slot[i]; returns the checksum as above.
  uint16_t (*emit)(uint8_t* lanes, const uint32_t* slot, size_t count);
};

// The best this CPU has, or the one forced. Logged by programs at start; never changes while packets flow.
const LaneKernels& lane_kernels();
// Forces one by name; false if this CPU or build lacks it. "auto" undoes it.
bool force_lane_kernels(std::string_view name);
// All that this CPU can run, the scalar one first: for tests and benches.
struct LaneKernelsList {
  const LaneKernels* items[4];
  size_t count;
};
LaneKernelsList available_lane_kernels();

}  // namespace l3dml::kernels
