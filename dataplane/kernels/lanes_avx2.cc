// Eight lanes at a time; the rest of an odd count goes through a buffer of eight, so that there is one path
// only. The checksum adds whole 32-bit words into 64-bit sums: 2^16 = 1 modulo 2^16-1, so folding at the end
// is enough.
#include <immintrin.h>
#include <string.h>

#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kStep = 8;

__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

__m256i swap_bytes(__m256i v) {
  const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,  //
                                         3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return _mm256_shuffle_epi8(v, order);
}

__m256i sum_words(__m256i sums, __m256i v) {
  sums = _mm256_add_epi64(sums, _mm256_and_si256(v, _mm256_set1_epi64x(0xffffffff)));
  return _mm256_add_epi64(sums, _mm256_srli_epi64(v, 32));
}

uint16_t fold(__m256i sums) {
  uint64_t parts[4];
  store(parts, sums);
  uint64_t sum = 0;
  for (uint64_t part : parts) sum += (part >> 32) + (part & 0xffffffff);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

void set(uint32_t* slot, const uint8_t* lanes, size_t count) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) store(slot + i, swap_bytes(load(lanes + 4 * i)));
  if (i == count) return;
  alignas(32) uint32_t rest[kStep] = {};
  memcpy(rest, lanes + 4 * i, 4 * (count - i));
  store(rest, swap_bytes(load(rest)));
  memcpy(slot + i, rest, 4 * (count - i));
}

void add(uint32_t* slot, const uint8_t* lanes, size_t count) {
  size_t i = 0;
  for (; i + kStep <= count; i += kStep)
    store(slot + i, _mm256_add_epi32(load(slot + i), swap_bytes(load(lanes + 4 * i))));
  if (i == count) return;
  alignas(32) uint32_t rest[kStep] = {}, old[kStep] = {};
  memcpy(rest, lanes + 4 * i, 4 * (count - i));
  memcpy(old, slot + i, 4 * (count - i));
  store(rest, _mm256_add_epi32(load(old), swap_bytes(load(rest))));
  memcpy(slot + i, rest, 4 * (count - i));
}

uint16_t emit(uint8_t* lanes, const uint32_t* slot, size_t count) {
  __m256i sums = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const __m256i v = load(slot + i);
    sums = sum_words(sums, v);
    store(lanes + 4 * i, swap_bytes(v));
  }
  if (i < count) {
    alignas(32) uint32_t rest[kStep] = {};
    memcpy(rest, slot + i, 4 * (count - i));
    const __m256i v = load(rest);
    sums = sum_words(sums, v);
    store(rest, swap_bytes(v));
    memcpy(lanes + 4 * i, rest, 4 * (count - i));
  }
  return fold(sums);
}

uint16_t add_and_emit(uint32_t* slot, uint8_t* lanes, size_t count) {
  __m256i sums = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    const __m256i v = _mm256_add_epi32(load(slot + i), swap_bytes(load(lanes + 4 * i)));
    sums = sum_words(sums, v);
    store(slot + i, v);
    store(lanes + 4 * i, swap_bytes(v));
  }
  if (i < count) {
    alignas(32) uint32_t rest[kStep] = {}, old[kStep] = {};
    memcpy(rest, lanes + 4 * i, 4 * (count - i));
    memcpy(old, slot + i, 4 * (count - i));
    const __m256i v = _mm256_add_epi32(load(old), swap_bytes(load(rest)));
    sums = sum_words(sums, v);
    store(old, v);
    store(rest, swap_bytes(v));
    memcpy(slot + i, old, 4 * (count - i));
    memcpy(lanes + 4 * i, rest, 4 * (count - i));
  }
  return fold(sums);
}

}  // namespace

const LaneKernels kLanesAvx2 = {"avx2", set, add, add_and_emit, emit};

}  // namespace l3dml::kernels
