// From tensors to lanes and back (DESIGN section 7): exponent of a chunk, float32 -> big-endian lanes
// straight into the packet, lanes -> float32. One implementation per instruction set; quantize_scalar.cc is
// the specification and quantize_test compares the others with it bit by bit, so every worker gets the same
// bits whatever CPU it has.
//
// Elements lie in lanes in the order of the bytes: fixed16x2 is an array of big-endian 16-bit halves,
// fixed8x4 one of bytes. A lane that the chunk fills only in part is written whole, its rest 0. Contract of
// every function: any count of elements including 0 and odd ones, no alignment needed, arrays do not overlap,
// nothing else is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace l3dml::kernels {

enum class LaneFormat : uint8_t { kFixed32, kFixed16x2, kFixed8x4 };
inline constexpr size_t kLaneFormats = 3;

inline constexpr uint8_t kExpMin = 1, kExpMax = 253;
inline constexpr uint8_t kExpNonFinite = 254;  // an input is not finite, or 2^126 or more
inline constexpr uint8_t kExpRepeat = 255;     // a lane did not fit

constexpr size_t elements_per_lane(LaneFormat format) { return size_t{1} << static_cast<unsigned>(format); }
constexpr size_t lanes_for(LaneFormat format, size_t elements) {
  return (elements + elements_per_lane(format) - 1) / elements_per_lane(format);
}

// s of DESIGN section 7: quantised values lie within +-2^s. fixed32 leaves one bit more than the world needs;
// the halves and quarters spend all bits, and 2^s itself, which only rounding reaches, becomes 2^s - 1. Below
// 1 the format cannot carry so many workers.
constexpr int value_bits(LaneFormat format, unsigned world) {
  int world_bits = 0;
  while ((1u << world_bits) < world) ++world_bits;
  return (format == LaneFormat::kFixed32 ? 30 : format == LaneFormat::kFixed16x2 ? 15 : 7) - world_bits;
}

// Writes count elements as lanes = round_to_nearest_even(x * 2^(s - e)), e = exp - 127, plus 2^s in the
// offset-binary formats. Returns the exponent that x itself needs: the lanes are good if that is <= exp, else
// unspecified. residual, if not null: residual[i] = x[i] - what the lanes say of it (not for fixed32). `bits`
// is s.
using QuantizeFunction = uint8_t (*)(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits,
                                     float* residual);
// x[i] = (lane - 2^s * weight) * 2^(e - s), then / divisor unless that is 1. fixed32 has no offset and
// ignores weight.
using DequantizeFunction = void (*)(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits,
                                    uint32_t weight, float divisor);

struct QuantizeKernels {
  std::string_view name;  // "scalar", "avx2", "avx512"
  // The least exp, 1..253, with |x| < 2^(exp - 127) for all elements; kExpNonFinite where there is none.
  uint8_t (*exponent)(const float* x, size_t count);
  QuantizeFunction quantize[kLaneFormats];  // by LaneFormat
  DequantizeFunction dequantize[kLaneFormats];
  // x[i] += r[i]: puts a residual back before the chunk is quantised.
  void (*accumulate)(float* x, const float* r, size_t count);
};

// As in lanes.h: the best this CPU has or the one forced; false if this CPU or build lacks it; "auto" undoes
// it.
const QuantizeKernels& quantize_kernels();
bool force_quantize_kernels(std::string_view name);
struct QuantizeKernelsList {
  const QuantizeKernels* items[4];
  size_t count;
};
QuantizeKernelsList available_quantize_kernels();

}  // namespace l3dml::kernels
