// Sixteen elements at a time; the rest of an odd count is masked.
#include <immintrin.h>

#include "dataplane/kernels/implementations.h"
#include "dataplane/kernels/scale.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kStep = 16;

__mmask16 mask_of(size_t left) {
  return left >= kStep ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << left) - 1);
}

// The greatest |x| so far, as bits.
__m512i max_magnitude(__m512i max, __m512 x) {
  return _mm512_max_epu32(max, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
}
uint8_t exp_of(__m512i max) {
  const uint32_t field = _mm512_reduce_max_epu32(max) >> 23;
  return static_cast<uint8_t>((field < 253 ? field : 253) + 1);
}

__m512i swap_bytes(__m512i v) {
  return _mm512_shuffle_epi8(
      v, _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)));
}
__m256i swap_halves(__m256i v) {
  return _mm256_shuffle_epi8(
      v, _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)));
}

struct Factors {
  explicit Factors(Scale scale) : first(_mm512_set1_ps(scale.first)), second(_mm512_set1_ps(scale.second)) {}
  __m512 operator()(__m512 x) const { return _mm512_mul_ps(_mm512_mul_ps(x, first), second); }
  __m512 first, second;
};

uint8_t exponent(const float* x, size_t count) {
  __m512i max = _mm512_setzero_si512(), max2 = max;
  size_t i = 0;
  for (; i + 2 * kStep <= count; i += 2 * kStep) {
    max = max_magnitude(max, _mm512_loadu_ps(x + i));
    max2 = max_magnitude(max2, _mm512_loadu_ps(x + i + kStep));
  }
  for (; i < count; i += kStep) max = max_magnitude(max, _mm512_maskz_loadu_ps(mask_of(count - i), x + i));
  return exp_of(_mm512_max_epu32(max, max2));
}

uint8_t quantize32(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits, float*) {
  const Factors up(scale_of(bits - (exp - 127)));
  __m512i max = _mm512_setzero_si512();
  for (size_t i = 0; i < count; i += kStep) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
    max = max_magnitude(max, v);
    _mm512_mask_storeu_epi32(lanes + 4 * i, mask, swap_bytes(_mm512_cvtps_epi32(up(v))));
  }
  return exp_of(max);
}

template <size_t kBytes>
uint8_t quantize_offset(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits,
                        float* residual) {
  const Factors up(scale_of(bits - (exp - 127))), down(scale_of((exp - 127) - bits));
  const __m512i offset = _mm512_set1_epi32(1 << bits), top = _mm512_set1_epi32((1 << bits) - 1);
  __m512i max = _mm512_setzero_si512();
  for (size_t i = 0; i < count; i += kStep) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
    max = max_magnitude(max, v);
    const __m512i q = _mm512_min_epi32(_mm512_cvtps_epi32(up(v)), top);
    const __m512i raised = _mm512_add_epi32(q, offset);
    if constexpr (kBytes == 2)
      _mm256_mask_storeu_epi16(lanes + 2 * i, mask, swap_halves(_mm512_cvtepi32_epi16(raised)));
    else
      _mm_mask_storeu_epi8(lanes + i, mask, _mm512_cvtepi32_epi8(raised));
    if (residual) _mm512_mask_storeu_ps(residual + i, mask, _mm512_sub_ps(v, down(_mm512_cvtepi32_ps(q))));
  }
  for (size_t i = kBytes * count; i % 4 != 0; ++i) lanes[i] = 0;
  return exp_of(max);
}

template <bool kDivide>
void dequantize32(float* x, const uint8_t* lanes, size_t count, Factors down, __m512 divisor) {
  for (size_t i = 0; i < count; i += kStep) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 y = down(_mm512_cvtepi32_ps(swap_bytes(_mm512_maskz_loadu_epi32(mask, lanes + 4 * i))));
    _mm512_mask_storeu_ps(x + i, mask, kDivide ? _mm512_div_ps(y, divisor) : y);
  }
}
void dequantize32(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t,
                  float divisor) {
  const Factors down(scale_of((exp - 127) - bits));
  if (divisor == 1)
    dequantize32<false>(x, lanes, count, down, _mm512_set1_ps(divisor));
  else
    dequantize32<true>(x, lanes, count, down, _mm512_set1_ps(divisor));
}

template <size_t kBytes>
void dequantize_offset(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t weight,
                       float divisor) {
  const Factors down(scale_of((exp - 127) - bits));
  const __m512i offset = _mm512_set1_epi32(static_cast<int>(weight << bits));
  const __m512 by = _mm512_set1_ps(divisor);
  for (size_t i = 0; i < count; i += kStep) {
    const __mmask16 mask = mask_of(count - i);
    __m512i v;
    if constexpr (kBytes == 2)
      v = _mm512_cvtepu16_epi32(swap_halves(_mm256_maskz_loadu_epi16(mask, lanes + 2 * i)));
    else
      v = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, lanes + i));
    const __m512 y = down(_mm512_cvtepi32_ps(_mm512_sub_epi32(v, offset)));
    _mm512_mask_storeu_ps(x + i, mask, divisor == 1 ? y : _mm512_div_ps(y, by));
  }
}

void accumulate(float* x, const float* r, size_t count) {
  for (size_t i = 0; i < count; i += kStep) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, x + i), _mm512_maskz_loadu_ps(mask, r + i));
    _mm512_mask_storeu_ps(x + i, mask, sum);
  }
}

}  // namespace

const QuantizeKernels kQuantizeAvx512 = {"avx512",
                                         exponent,
                                         {quantize32, quantize_offset<2>, quantize_offset<1>},
                                         {dequantize32, dequantize_offset<2>, dequantize_offset<1>},
                                         accumulate};

}  // namespace l3dml::kernels
