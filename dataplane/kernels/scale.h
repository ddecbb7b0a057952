// A power of two that float32 may not hold, as two factors that it does. Private to this folder.
// Scaling up first overflows only what does not fit anyway; scaling down first stays normal for any lane, so
// only the second factor rounds. In an anonymous namespace, so that no object of an ISA exports a weak copy.
#pragma once

#include <stdint.h>
#include <string.h>

namespace l3dml::kernels {
namespace {

struct Scale {
  float first, second;
};

[[maybe_unused]] float power_of_two(int k) {  // -126..127
  const uint32_t bits = static_cast<uint32_t>(k + 127) << 23;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

[[maybe_unused]] Scale scale_of(int k) {  // -226..227
  const int first = k > 127 ? 127 : k < -126 ? -100 : k;
  return {power_of_two(first), power_of_two(k - first)};
}

}  // namespace
}  // namespace l3dml::kernels
