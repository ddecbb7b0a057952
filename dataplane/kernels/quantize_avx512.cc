// Sixteen elements at a time; only the rest of an odd count is masked, for the reason in lanes_avx512.cc.
#include <immintrin.h>

#include "dataplane/kernels/implementations.h"
#include "dataplane/kernels/scale.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kStep = 16;

struct All {};  // in place of a mask
__m512 load_ps(All, const float* p) { return _mm512_loadu_ps(p); }
__m512 load_ps(__mmask16 mask, const float* p) { return _mm512_maskz_loadu_ps(mask, p); }
void store_ps(float* p, All, __m512 v) { _mm512_storeu_ps(p, v); }
void store_ps(float* p, __mmask16 mask, __m512 v) { _mm512_mask_storeu_ps(p, mask, v); }

// Calls step(index, mask) over all elements.
template <typename Step>
void in_sixteens(size_t count, Step step) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) step(i, All{});
  if (i < count) step(i, static_cast<__mmask16>((1u << (count - i)) - 1));
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

// Sixteen lanes of the wire as kBytes-wide unsigned values each; 4 = the lane itself.
template <size_t kBytes>
void store_be(uint8_t* p, All, __m512i v) {
  if constexpr (kBytes == 4) _mm512_storeu_si512(p, swap_bytes(v));
  if constexpr (kBytes == 2)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), swap_halves(_mm512_cvtepi32_epi16(v)));
  if constexpr (kBytes == 1) _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
}
template <size_t kBytes>
void store_be(uint8_t* p, __mmask16 mask, __m512i v) {
  if constexpr (kBytes == 4) _mm512_mask_storeu_epi32(p, mask, swap_bytes(v));
  if constexpr (kBytes == 2) _mm256_mask_storeu_epi16(p, mask, swap_halves(_mm512_cvtepi32_epi16(v)));
  if constexpr (kBytes == 1) _mm_mask_storeu_epi8(p, mask, _mm512_cvtepi32_epi8(v));
}
template <size_t kBytes>
__m512i load_be(All, const uint8_t* p) {
  if constexpr (kBytes == 4) return swap_bytes(_mm512_loadu_si512(p));
  if constexpr (kBytes == 2)
    return _mm512_cvtepu16_epi32(swap_halves(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
  if constexpr (kBytes == 1)
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
template <size_t kBytes>
__m512i load_be(__mmask16 mask, const uint8_t* p) {
  if constexpr (kBytes == 4) return swap_bytes(_mm512_maskz_loadu_epi32(mask, p));
  if constexpr (kBytes == 2) return _mm512_cvtepu16_epi32(swap_halves(_mm256_maskz_loadu_epi16(mask, p)));
  if constexpr (kBytes == 1) return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, p));
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
  in_sixteens(count - i, [&](size_t j, auto mask) { max = max_magnitude(max, load_ps(mask, x + i + j)); });
  return exp_of(_mm512_max_epu32(max, max2));
}

uint8_t quantize32(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits, float*) {
  const Factors up(scale_of(bits - (exp - 127)));
  __m512i max = _mm512_setzero_si512();
  in_sixteens(count, [&](size_t i, auto mask) {
    const __m512 v = load_ps(mask, x + i);
    max = max_magnitude(max, v);
    store_be<4>(lanes + 4 * i, mask, _mm512_cvtps_epi32(up(v)));
  });
  return exp_of(max);
}

template <size_t kBytes>
uint8_t quantize_offset(uint8_t* lanes, const float* x, size_t count, uint8_t exp, int bits,
                        float* residual) {
  const Factors up(scale_of(bits - (exp - 127))), down(scale_of((exp - 127) - bits));
  const __m512i offset = _mm512_set1_epi32(1 << bits), top = _mm512_set1_epi32((1 << bits) - 1);
  __m512i max = _mm512_setzero_si512();
  in_sixteens(count, [&](size_t i, auto mask) {
    const __m512 v = load_ps(mask, x + i);
    max = max_magnitude(max, v);
    const __m512i q = _mm512_min_epi32(_mm512_cvtps_epi32(up(v)), top);
    store_be<kBytes>(lanes + kBytes * i, mask, _mm512_add_epi32(q, offset));
    if (residual) store_ps(residual + i, mask, _mm512_sub_ps(v, down(_mm512_cvtepi32_ps(q))));
  });
  for (size_t i = kBytes * count; i % 4 != 0; ++i) lanes[i] = 0;
  return exp_of(max);
}

template <size_t kBytes>
void dequantize(float* x, const uint8_t* lanes, size_t count, uint8_t exp, int bits, uint32_t weight,
                float divisor) {
  const Factors down(scale_of((exp - 127) - bits));
  const __m512i offset = _mm512_set1_epi32(kBytes == 4 ? 0 : static_cast<int>(weight << bits));
  const __m512 by = _mm512_set1_ps(divisor);
  in_sixteens(count, [&](size_t i, auto mask) {
    const __m512i v = _mm512_sub_epi32(load_be<kBytes>(mask, lanes + kBytes * i), offset);
    const __m512 y = down(_mm512_cvtepi32_ps(v));
    store_ps(x + i, mask, divisor == 1 ? y : _mm512_div_ps(y, by));
  });
}

void accumulate(float* x, const float* r, size_t count) {
  in_sixteens(count, [&](size_t i, auto mask) {
    store_ps(x + i, mask, _mm512_add_ps(load_ps(mask, x + i), load_ps(mask, r + i)));
  });
}

}  // namespace

const QuantizeKernels kQuantizeAvx512 = {"avx512",
                                         exponent,
                                         {quantize32, quantize_offset<2>, quantize_offset<1>},
                                         {dequantize<4>, dequantize<2>, dequantize<1>},
                                         accumulate};

}  // namespace l3dml::kernels
