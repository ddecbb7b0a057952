// The lanes that workers send and the sum they expect back. Each worker has one row of random words; the
// lanes of number n begin at word n mod 61 of it, and so does their sum in the row of sums. 61 is prime:
// numbers that share a slot never carry the same lanes, so a sum that is left over is told from a right one.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "dataplane/base/endian.h"

namespace l3dml::gen {

class Pattern {
 public:
  static constexpr uint32_t kShifts = 61;

  Pattern(unsigned members, uint32_t lanes, uint64_t seed)
      : bytes_(size_t{lanes} * 4), row_((size_t{lanes} + kShifts) * 4), rows_(row_ * (members + size_t{1})) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> sums(lanes + kShifts, 0);
    for (unsigned member = 0; member < members; ++member)
      for (size_t i = 0; i < sums.size(); ++i) {
        const auto word = static_cast<uint32_t>(random());
        sums[i] += word;  // wraps, as the switch does
        put(member, i, word);
      }
    for (size_t i = 0; i < sums.size(); ++i) put(members, i, sums[i]);
    sums_ = row_ * members;
    for (uint32_t number = 0; number < kShifts; ++number)
      for (unsigned member = 0; member < members; ++member)
        wishes_[number] = std::max(wishes_[number], next_exp(member, number));
  }

  // `lanes` big-endian words each.
  const uint8_t* lanes(unsigned member, uint32_t number) const {
    return rows_.data() + row_ * member + number % kShifts * 4;
  }
  const uint8_t* sum(uint32_t number) const { return rows_.data() + sums_ + number % kShifts * 4; }
  size_t bytes() const { return bytes_; }  // of the lanes of a packet

  // Exponents: the same for all workers of a number; a wish of each worker's own, of which the largest
  // counts.
  static uint8_t exp(uint32_t number) { return static_cast<uint8_t>(1 + number % 251); }
  static uint8_t next_exp(unsigned member, uint32_t number) {
    return static_cast<uint8_t>(1 + (number % kShifts * 7 + member * 13) % 251);
  }
  uint8_t largest_next_exp(uint32_t number) const { return wishes_[number % kShifts]; }

 private:
  void put(unsigned row, size_t index, uint32_t word) {
    const base::be32_t big(word);
    std::memcpy(rows_.data() + row_ * row + index * 4, &big, 4);
  }

  size_t bytes_, row_, sums_ = 0;  // bytes
  std::vector<uint8_t> rows_;      // one per member, then the sums
  uint8_t wishes_[kShifts] = {};
};

}  // namespace l3dml::gen
