#include "dataplane/kernels/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "dataplane/kernels/lanes.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kBlock = 256;  // elements; a multiple of every format's elements per lane

template <typename T>
T load(const void* x, size_t i) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(x) + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void store(void* x, size_t i, T value) {
  std::memcpy(static_cast<uint8_t*>(x) + i * sizeof(T), &value, sizeof(T));
}

void to_float32(ElementType type, float* out, const void* x, size_t from, size_t count) {
  for (size_t i = 0; i < count; ++i) switch (type) {
      case ElementType::kFloat64:
        out[i] = static_cast<float>(load<double>(x, from + i));
        break;
      case ElementType::kFloat16:
        out[i] = float_of_half(load<uint16_t>(x, from + i));
        break;
      case ElementType::kBfloat16:
        out[i] = float_of_bfloat16(load<uint16_t>(x, from + i));
        break;
      default:
        out[i] = load<float>(x, from + i);
    }
}

void from_float32(ElementType type, void* x, size_t from, const float* in, size_t count) {
  for (size_t i = 0; i < count; ++i) switch (type) {
      case ElementType::kFloat64:
        store<double>(x, from + i, in[i]);
        break;
      case ElementType::kFloat16:
        store(x, from + i, half_of_float(in[i]));
        break;
      case ElementType::kBfloat16:
        store(x, from + i, bfloat16_of_float(in[i]));
        break;
      default:
        store(x, from + i, in[i]);
    }
}

// float64 in fixed32, as the float32 kernels do it but with a scale that always fits one factor.
uint8_t exp_of_double(double x) {
  if (!std::isfinite(x)) return kExpNonFinite;
  if (x == 0) return kExpMin;
  const int exp = std::ilogb(x) + 1 + 127;
  return static_cast<uint8_t>(exp < kExpMin ? kExpMin : exp > kExpMax ? kExpNonFinite : exp);
}
double sum_at(const void* x, const float* carried, size_t i) {
  return load<double>(x, i) + (carried ? double{carried[i]} : 0.0);
}
uint8_t exponent_double(const void* x, const float* carried, size_t count) {
  double max = 0;
  for (size_t i = 0; i < count; ++i) {
    const double magnitude = std::fabs(sum_at(x, carried, i));
    if (!std::isfinite(magnitude)) return kExpNonFinite;
    max = std::max(max, magnitude);
  }
  return exp_of_double(max);
}
void store_be32(uint8_t* p, uint32_t v) {
  const uint8_t bytes[4] = {static_cast<uint8_t>(v >> 24), static_cast<uint8_t>(v >> 16),
                            static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)};
  std::memcpy(p, bytes, 4);
}
int32_t load_be32(const uint8_t* p) {
  return static_cast<int32_t>(uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3]);
}
uint8_t quantize_double(uint8_t* lanes, const void* x, const float* carried, size_t count, uint8_t exp,
                        int bits) {
  const uint8_t needed = exponent_double(x, carried, count);
  if (needed > exp) return needed;
  const double up = std::ldexp(1.0, bits - (exp - 127));
  for (size_t i = 0; i < count; ++i)
    store_be32(lanes + 4 * i, static_cast<uint32_t>(std::lrint(sum_at(x, carried, i) * up)));
  return needed;
}

}  // namespace

uint8_t Codec::exponent(const void* x, const float* carried, size_t count) const {
  if (type_ == ElementType::kInt32) return 0;
  if (type_ == ElementType::kFloat64 && format_ == LaneFormat::kFixed32)
    return exponent_double(x, carried, count);
  const QuantizeKernels& kernels = quantize_kernels();
  if (type_ == ElementType::kFloat32 && !carried)
    return kernels.exponent(static_cast<const float*>(x), count);
  uint8_t needed = kExpMin;
  for (size_t from = 0; from < count; from += kBlock) {
    float block[kBlock];
    const size_t n = std::min(kBlock, count - from);
    to_float32(type_, block, x, from, n);
    if (carried) kernels.accumulate(block, carried + from, n);
    needed = std::max(needed, kernels.exponent(block, n));
  }
  return needed;
}

uint8_t Codec::quantize(uint8_t* lanes, const void* x, const float* carried, size_t count, uint8_t exp,
                        float* residual) const {
  if (type_ == ElementType::kInt32) {
    // The wire's byte order, both ways, is all there is to do.
    lane_kernels().emit(lanes, static_cast<const uint32_t*>(x), count);
    return 0;
  }
  if (type_ == ElementType::kFloat64 && format_ == LaneFormat::kFixed32)
    return quantize_double(lanes, x, carried, count, exp, bits_);
  const QuantizeKernels& kernels = quantize_kernels();
  const QuantizeFunction to_lanes = kernels.quantize[static_cast<size_t>(format_)];
  if (type_ == ElementType::kFloat32 && !carried)
    return to_lanes(lanes, static_cast<const float*>(x), count, exp, bits_, residual);
  uint8_t needed = kExpMin;
  for (size_t from = 0; from < count; from += kBlock) {
    float block[kBlock];
    const size_t n = std::min(kBlock, count - from);
    to_float32(type_, block, x, from, n);
    if (carried) kernels.accumulate(block, carried + from, n);
    needed = std::max(needed, to_lanes(lanes + from / elements_per_lane(format_) * 4, block, n, exp, bits_,
                                       residual ? residual + from : nullptr));
  }
  return needed;
}

void Codec::dequantize(void* x, const uint8_t* lanes, size_t count, uint8_t exp, uint32_t weight,
                       bool average) const {
  if (weight == 0) {
    std::memset(x, 0, count * element_size(type_));
    return;
  }
  if (type_ == ElementType::kInt32) {
    lane_kernels().set(static_cast<uint32_t*>(x), lanes, count);
    if (average)
      for (size_t i = 0; i < count; ++i) store(x, i, load<int32_t>(x, i) / static_cast<int32_t>(weight));
    return;
  }
  const float divisor = average ? static_cast<float>(weight) : 1.0f;
  if (type_ == ElementType::kFloat64 && format_ == LaneFormat::kFixed32) {
    const double down = std::ldexp(1.0, (exp - 127) - bits_);
    for (size_t i = 0; i < count; ++i) store(x, i, load_be32(lanes + 4 * i) * down / double{divisor});
    return;
  }
  const DequantizeFunction from_lanes = quantize_kernels().dequantize[static_cast<size_t>(format_)];
  if (type_ == ElementType::kFloat32)
    return from_lanes(static_cast<float*>(x), lanes, count, exp, bits_, weight, divisor);
  for (size_t from = 0; from < count; from += kBlock) {
    float block[kBlock];
    const size_t n = std::min(kBlock, count - from);
    from_lanes(block, lanes + from / elements_per_lane(format_) * 4, n, exp, bits_, weight, divisor);
    from_float32(type_, x, from, block, n);
  }
}

float float_of_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t bfloat16_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float float_of_half(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16, field = half >> 10 & 31, fraction = half & 0x3ff;
  if (field == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (field > 0) return std::bit_cast<float>(sign | (field + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return sign ? -magnitude : magnitude;
}

uint16_t half_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and more
  if (magnitude < 0x38800000) {  // below 2^-14: multiples of 2^-24; adding 0.5 lets the hardware round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

}  // namespace l3dml::kernels
