// The specification of the lane kernels. Never "optimised".
#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {
namespace {

uint32_t load_be(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}
void store_be(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 24), p[1] = static_cast<uint8_t>(v >> 16);
  p[2] = static_cast<uint8_t>(v >> 8), p[3] = static_cast<uint8_t>(v);
}

void set(uint32_t* slot, const uint8_t* lanes, size_t count) {
  for (size_t i = 0; i < count; ++i) slot[i] = load_be(lanes + 4 * i);
}
void add(uint32_t* slot, const uint8_t* lanes, size_t count) {
  for (size_t i = 0; i < count; ++i) slot[i] += load_be(lanes + 4 * i);
}
uint16_t emit(uint8_t* lanes, const uint32_t* slot, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    store_be(lanes + 4 * i, slot[i]);
    sum += (slot[i] >> 16) + (slot[i] & 0xffff);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
uint16_t add_and_emit(uint32_t* slot, uint8_t* lanes, size_t count) {
  add(slot, lanes, count);
  return emit(lanes, slot, count);
}

}  // namespace

const LaneKernels kLanesScalar = {"scalar", set, add, add_and_emit, emit};

}  // namespace l3dml::kernels
