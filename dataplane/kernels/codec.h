// A tensor's elements <-> lanes, for every element type and lane format: what the host library calls per
// chunk. float32 runs on the SIMD kernels directly; float64 in fixed32 keeps all 30 bits; the other
// combinations pass through float32 in small blocks. int32 goes unscaled (exp 0, wrapping). Inputs are never
// written: a repeat starts from them. Stateless and thread-safe; arrays as in quantize.h.
#pragma once

#include "dataplane/kernels/quantize.h"

namespace l3dml::kernels {

enum class ElementType : uint8_t { kFloat32, kFloat64, kFloat16, kBfloat16, kInt32 };

constexpr size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
      return 8;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    default:
      return 4;
  }
}

class Codec {
 public:
  // int32 is always fixed32, whatever `format` says. `world` is the number of workers whose lanes may be
  // summed.
  Codec(ElementType type, LaneFormat format, unsigned world)
      : type_(type),
        format_(type == ElementType::kInt32 ? LaneFormat::kFixed32 : format),
        bits_(value_bits(format_, world)) {}

  bool usable() const { return bits_ >= 1; }  // false: the format cannot carry so many workers
  ElementType type() const { return type_; }
  LaneFormat format() const { return format_; }
  int bits() const { return bits_; }  // s of DESIGN section 7

  // The exponent that x + carried needs (quantize.h); 0 for int32. `carried` may be null: the residual of the
  // step before, one float per element.
  uint8_t exponent(const void* x, const float* carried, size_t count) const;
  // Lanes of x + carried under `exp`; returns the exponent needed: if above `exp` the lanes are unspecified.
  // `residual`, if not null, receives what the lanes leave out (offset-binary formats only).
  uint8_t quantize(uint8_t* lanes, const void* x, const float* carried, size_t count, uint8_t exp,
                   float* residual) const;
  // The sum of `weight` workers' lanes as elements; average divides by weight. Weight 0: zeros.
  void dequantize(void* x, const uint8_t* lanes, size_t count, uint8_t exp, uint32_t weight,
                  bool average) const;

 private:
  ElementType type_;
  LaneFormat format_;
  int bits_;
};

// Round to nearest even; NaN stays NaN, too large becomes infinity.
float float_of_half(uint16_t half);
uint16_t half_of_float(float value);
float float_of_bfloat16(uint16_t bits);
uint16_t bfloat16_of_float(float value);

}  // namespace l3dml::kernels
