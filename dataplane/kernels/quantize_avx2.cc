// Eight elements at a time; the rest of an odd count goes through buffers of eight, so that there is one path
// only.
#include <immintrin.h>

#include "dataplane/kernels/implementations.h"
#include "dataplane/kernels/scale.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kStep = 8;

// The greatest |x| so far, as bits.
__m256i max_magnitude(__m256i max, __m256 x) {
  return _mm256_max_epu32(max, _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff)));
}
uint8_t exp_of(__m256i max) {
  __m128i m = _mm_max_epu32(_mm256_castsi256_si128(max), _mm256_extracti128_si256(max, 1));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
  const uint32_t field = static_cast<uint32_t>(_mm_cvtsi128_si32(m)) >> 23;
  return static_cast<uint8_t>((field < 253 ? field : 253) + 1);
}

__m256i swap_bytes(__m256i v) {
  return _mm256_shuffle_epi8(
      v, _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)));
}
__m128i swap_halves(__m128i v) {
  return _mm_shuffle_epi8(v, _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
}

struct Factors {
  explicit Factors(Scale scale) : first(_mm256_set1_ps(scale.first)), second(_mm256_set1_ps(scale.second)) {}
  __m256 operator()(__m256 x) const { return _mm256_mul_ps(_mm256_mul_ps(x, first), second); }
  __m256 first, second;
};

// Calls step(eight in, eight out) over `count` elements; both sides are given as bytes per element.
template <size_t kIn, size_t kOut, typename Step>
void in_eights(uint8_t* out, const uint8_t* in, size_t count, Step step) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) step(out + kOut * i, in + kIn * i);
  if (i == count) return;
  alignas(32) uint8_t rest_in[kIn * kStep] = {}, rest_out[kOut * kStep];
  memcpy(rest_in, in + kIn * i, kIn * (count - i));
  step(rest_out, rest_in);
  memcpy(out + kOut * i, rest_out, kOut * (count - i));
}
const uint8_t* bytes(const float* x) { return reinterpret_cast<const uint8_t*>(x); }
uint8_t* bytes(float* x) { return reinterpret_cast<uint8_t*>(x); }
__m256 load_ps(const uint8_t* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
void store_ps(uint8_t* p, __m256 v) { _mm256_storeu_ps(reinterpret_cast<float*>(p), v); }

// Eight 32-bit values below 2^16 (2^8) as halves (bytes), in order, in the wire's byte order.
template <size_t kBytes>
void store_narrow(uint8_t* p, __m256i v) {
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  if constexpr (kBytes == 2)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), swap_halves(halves));
  else
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}
template <size_t kBytes>
__m256i load_narrow(const uint8_t* p) {
  if constexpr (kBytes == 2)
    return _mm256_cvtepu16_epi32(swap_halves(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  else
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

uint8_t exponent(const float* x, size_t count) {
  __m256i max = _mm256_setzero_si256(), max2 = max;
  size_t i = 0;
  for (; i + 2 * kStep <= count; i += 2 * kStep) {
    max = max_magnitude(max, _mm256_loadu_ps(x + i));
    max2 = max_magnitude(max2, _mm256_loadu_ps(x + i + kStep));
  }
  for (; i < count; i += kStep) {
    alignas(32) float rest[kStep] = {};
    memcpy(rest, x + i, 4 * (count - i < kStep ? count - i : kStep));
    max = max_magnitude(max, _mm256_load_ps(rest));
  }
  return exp_of(_mm256_max_epu32(max, max2));
}

uint8_t quantize32(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits, float*) {
  const Factors up(scale_of(bits - (exp - 127)));
  __m256i max = _mm256_setzero_si256();
  in_eights<4, 4>(lanes, bytes(x), count, [&](uint8_t* out, const uint8_t* in) {
    const __m256 v = load_ps(in);
    max = max_magnitude(max, v);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), swap_bytes(_mm256_cvtps_epi32(up(v))));
  });
  return exp_of(max);
}

template <size_t kBytes>
uint8_t quantize_offset(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits,
                        float* residual) {
  const Factors up(scale_of(bits - (exp - 127))), down(scale_of((exp - 127) - bits));
  const __m256i offset = _mm256_set1_epi32(1 << bits), top = _mm256_set1_epi32((1 << bits) - 1);
  __m256i max = _mm256_setzero_si256();
  const auto round = [&](__m256 v) { return _mm256_min_epi32(_mm256_cvtps_epi32(up(v)), top); };
  in_eights<4, kBytes>(lanes, bytes(x), count, [&](uint8_t* out, const uint8_t* in) {
    const __m256 v = load_ps(in);
    max = max_magnitude(max, v);
    store_narrow<kBytes>(out, _mm256_add_epi32(round(v), offset));
  });
  if (residual)
    in_eights<4, 4>(bytes(residual), bytes(x), count, [&](uint8_t* out, const uint8_t* in) {
      const __m256 v = load_ps(in);
      store_ps(out, _mm256_sub_ps(v, down(_mm256_cvtepi32_ps(round(v)))));
    });
  for (size_t i = kBytes * count; i % 4 != 0; ++i) lanes[i] = 0;
  return exp_of(max);
}

void dequantize32(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t,
                  float divisor) {
  const Factors down(scale_of((exp - 127) - bits));
  const __m256 by = _mm256_set1_ps(divisor);
  in_eights<4, 4>(bytes(x), lanes, count, [&](uint8_t* out, const uint8_t* in) {
    const __m256i v = swap_bytes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
    const __m256 y = down(_mm256_cvtepi32_ps(v));
    store_ps(out, divisor == 1 ? y : _mm256_div_ps(y, by));
  });
}

template <size_t kBytes>
void dequantize_offset(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t weight,
                       float divisor) {
  const Factors down(scale_of((exp - 127) - bits));
  const __m256i offset = _mm256_set1_epi32(static_cast<int>(weight << bits));
  const __m256 by = _mm256_set1_ps(divisor);
  in_eights<kBytes, 4>(bytes(x), lanes, count, [&](uint8_t* out, const uint8_t* in) {
    const __m256 y = down(_mm256_cvtepi32_ps(_mm256_sub_epi32(load_narrow<kBytes>(in), offset)));
    store_ps(out, divisor == 1 ? y : _mm256_div_ps(y, by));
  });
}

void accumulate(float* x, const float* r, size_t count) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep)
    _mm256_storeu_ps(x + i, _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(r + i)));
  for (; i < count; ++i) x[i] += r[i];
}

}  // namespace

const QuantizeKernels kQuantizeAvx2 = {"avx2",
                                       exponent,
                                       {quantize32, quantize_offset<2>, quantize_offset<1>},
                                       {dequantize32, dequantize_offset<2>, dequantize_offset<1>},
                                       accumulate};

}  // namespace l3dml::kernels
