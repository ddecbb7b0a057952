// The specification of the quantising kernels. Never "optimised".
#include <math.h>

#include "dataplane/kernels/implementations.h"
#include "dataplane/kernels/scale.h"

namespace l3dml::kernels {
namespace {

// |x| as bits: orders as the magnitudes do, with infinity and NaN on top.
uint32_t magnitude(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffff;
}

// A float with exponent field E is below 2^(E-126), and exp - 127 is that exponent. 253 and 254 are beyond
// the range.
uint8_t exp_of(uint32_t magnitude) {
  const uint32_t field = magnitude >> 23;
  return static_cast<uint8_t>((field < 253 ? field : 253) + 1);
}

uint8_t exponent(const float* x, size_t count) {
  uint32_t max = 0;
  for (size_t i = 0; i < count; ++i) max = magnitude(x[i]) > max ? magnitude(x[i]) : max;
  return exp_of(max);
}

// What does not fit may be anything, but must be something: the conversion of it is undefined in C++.
int32_t round_even(float v) { return fabsf(v) < 0x1p31f ? static_cast<int32_t>(lrintf(v)) : INT32_MIN; }

void store_be32(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 24), p[1] = static_cast<uint8_t>(v >> 16);
  p[2] = static_cast<uint8_t>(v >> 8), p[3] = static_cast<uint8_t>(v);
}
uint32_t load_be32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

uint8_t quantize32(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits, float*) {
  const Scale up = scale_of(bits - (exp - 127));
  for (size_t i = 0; i < count; ++i)
    store_be32(lanes + 4 * i, static_cast<uint32_t>(round_even(x[i] * up.first * up.second)));
  return exponent(x, count);
}

// Halves and quarters: a lane is 4 / sizeof(element) of them, big-endian.
template <size_t kBytes>
uint8_t quantize_offset(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits,
                        float* residual) {
  const Scale up = scale_of(bits - (exp - 127)), down = scale_of((exp - 127) - bits);
  const int32_t offset = int32_t{1} << bits;
  for (size_t i = 0; i < count; ++i) {
    int32_t q = round_even(x[i] * up.first * up.second);
    if (q > offset - 1) q = offset - 1;
    const uint32_t v = static_cast<uint32_t>(q) + static_cast<uint32_t>(offset);
    if (kBytes == 2) lanes[2 * i] = static_cast<uint8_t>(v >> 8);
    lanes[kBytes * i + kBytes - 1] = static_cast<uint8_t>(v);
    if (residual) residual[i] = x[i] - static_cast<float>(q) * down.first * down.second;
  }
  for (size_t i = kBytes * count; i % 4 != 0; ++i) lanes[i] = 0;
  return exponent(x, count);
}

void dequantize32(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t,
                  float divisor) {
  const Scale down = scale_of((exp - 127) - bits);
  for (size_t i = 0; i < count; ++i) {
    const float y =
        static_cast<float>(static_cast<int32_t>(load_be32(lanes + 4 * i))) * down.first * down.second;
    x[i] = divisor == 1 ? y : y / divisor;
  }
}

template <size_t kBytes>
void dequantize_offset(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t weight,
                       float divisor) {
  const Scale down = scale_of((exp - 127) - bits);
  const uint32_t offset = weight << bits;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t v = kBytes == 2 ? uint32_t{lanes[2 * i]} << 8 | lanes[2 * i + 1] : lanes[i];
    const float y = static_cast<float>(static_cast<int32_t>(v - offset)) * down.first * down.second;
    x[i] = divisor == 1 ? y : y / divisor;
  }
}

void accumulate(float* x, const float* r, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] += r[i];
}

}  // namespace

const QuantizeKernels kQuantizeScalar = {"scalar",
                                         exponent,
                                         {quantize32, quantize_offset<2>, quantize_offset<1>},
                                         {dequantize32, dequantize_offset<2>, dequantize_offset<1>},
                                         accumulate};

}  // namespace l3dml::kernels
