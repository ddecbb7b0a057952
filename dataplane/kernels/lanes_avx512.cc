// Sixteen lanes at a time; only the rest of an odd count is masked: masked stores cost more than half the
// memory bandwidth once the arrays leave L2 (Zen 5). Checksum as in lanes_avx2.cc.
#include <immintrin.h>

#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kStep = 16;

struct All {};  // in place of a mask
__m512i load(All, const void* p) { return _mm512_loadu_si512(p); }
__m512i load(__mmask16 mask, const void* p) { return _mm512_maskz_loadu_epi32(mask, p); }
void store(void* p, All, __m512i v) { _mm512_storeu_si512(p, v); }
void store(void* p, __mmask16 mask, __m512i v) { _mm512_mask_storeu_epi32(p, mask, v); }

// Calls step(index, mask) over all lanes.
template <typename Step>
void in_sixteens(size_t count, Step step) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) step(i, All{});
  if (i < count) step(i, static_cast<__mmask16>((1u << (count - i)) - 1));
}

__m512i swap_bytes(__m512i v) {
  return _mm512_shuffle_epi8(
      v, _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)));
}

__m512i sum_words(__m512i sums, __m512i v) {
  sums = _mm512_add_epi64(sums, _mm512_and_si512(v, _mm512_set1_epi64(0xffffffff)));
  return _mm512_add_epi64(sums, _mm512_srli_epi64(v, 32));
}

uint16_t fold(__m512i sums) {
  uint64_t parts[8];
  _mm512_storeu_si512(parts, sums);
  uint64_t sum = 0;
  for (uint64_t part : parts) sum += (part >> 32) + (part & 0xffffffff);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

void set(uint32_t* slot, const uint8_t* lanes, size_t count) {
  in_sixteens(count,
              [&](size_t i, auto mask) { store(slot + i, mask, swap_bytes(load(mask, lanes + 4 * i))); });
}

void add(uint32_t* slot, const uint8_t* lanes, size_t count) {
  in_sixteens(count, [&](size_t i, auto mask) {
    store(slot + i, mask, _mm512_add_epi32(load(mask, slot + i), swap_bytes(load(mask, lanes + 4 * i))));
  });
}

uint16_t emit(uint8_t* lanes, const uint32_t* slot, size_t count) {
  __m512i sums = _mm512_setzero_si512();
  in_sixteens(count, [&](size_t i, auto mask) {
    const __m512i v = load(mask, slot + i);
    sums = sum_words(sums, v);
    store(lanes + 4 * i, mask, swap_bytes(v));
  });
  return fold(sums);
}

uint16_t add_and_emit(uint32_t* slot, uint8_t* lanes, size_t count) {
  __m512i sums = _mm512_setzero_si512();
  in_sixteens(count, [&](size_t i, auto mask) {
    const __m512i v = _mm512_add_epi32(load(mask, slot + i), swap_bytes(load(mask, lanes + 4 * i)));
    sums = sum_words(sums, v);
    store(slot + i, mask, v);
    store(lanes + 4 * i, mask, swap_bytes(v));
  });
  return fold(sums);
}

}  // namespace

const LaneKernels kLanesAvx512 = {"avx512", set, add, add_and_emit, emit};

}  // namespace l3dml::kernels
