// A collective that is not finished on one stripe: where its chunks lie in the tensor, which are held, what
// is known of their exponents, and the conversions between tensor and lanes. Private to the worker core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/host/collective.h"
#include "tools/host/exponent_history.h"

namespace l3dml::host {

class OpenCollective {
 public:
  // `index` counts collectives in order of submission; `first_place` is chunk 0's place in the stripe's
  // sequence.
  OpenCollective(const Collective& collective, unsigned world, uint32_t lanes, uint32_t look_ahead,
                 uint64_t index, uint64_t first_place);

  static uint64_t count_chunks(const Collective& collective, uint32_t lanes);

  const Collective& request() const { return c_; }
  uint64_t index() const { return index_; }
  uint64_t first_place() const { return first_place_; }
  uint64_t end_place() const { return first_place_ + chunks_; }
  uint32_t chunks() const { return chunks_; }
  uint32_t chunks_left() const { return left_; }
  bool finished() const { return left_ == 0; }
  bool integer() const { return c_.type == kernels::ElementType::kInt32; }
  bool held(uint32_t chunk) const { return held_[chunk / 64] >> chunk % 64 & 1; }
  size_t element(uint32_t chunk) const;   // first of the chunk
  size_t elements(uint32_t chunk) const;  // its count

  // Exponents. Chunks below L are predicted from `previous`, others told by the result of the chunk L before.
  uint32_t predicted_chunks() const { return std::min(chunks_, look_ahead_); }
  void set_records(std::shared_ptr<ExponentRecord> record, std::shared_ptr<ExponentRecord> previous) {
    record_ = std::move(record);
    previous_ = std::move(previous);
  }
  ExponentRecord* record() { return record_.get(); }
  ExponentRecord* previous() { return previous_.get(); }
  // What the last result of the chunk L before `chunk` said; 0: nothing.
  uint8_t told_exponent(uint32_t chunk) const { return told_[chunk - look_ahead_]; }
  // The exponent this rank's values of a chunk need: 1..253, 254 not finite; 0 for integers.
  uint8_t needed_exponent(uint32_t chunk) const;
  // This rank's wish for the chunk L after `chunk`: 0 if there is none. It is never 254: a chunk that is not
  // finite says so itself, so that the error names the right elements.
  uint8_t wish_after(uint32_t chunk) const;

  // Writes the chunk's lanes, all of them; returns the exponent needed (> exp: the lanes are worthless).
  uint8_t quantize(uint32_t chunk, uint8_t exp, uint8_t* lanes) const;

  // The final result of a chunk: commits the residual, then writes the output. `asked_exp`: what the chunk
  // needed where that is known exactly, else 0. True if it completed a block of the record.
  bool hold(uint32_t chunk, const uint8_t* lanes, uint8_t exp, uint8_t next_exp, uint32_t weight,
            bool abstained, uint8_t asked_exp);
  // The final result is none (`finite` false: some rank's values are not finite): nothing is written.
  bool hold_bad(uint32_t chunk, bool finite);
  void note_own_bad(uint32_t chunk);  // they are ours: finds the element

  CollectiveResult& result() { return result_; }
  bool begun = false;             // some chunk was sent
  std::vector<uint32_t> waiters;  // positions whose exponent a chunk of this collective will tell

 private:
  void mark_held(uint32_t chunk);
  void commit_residual(uint32_t chunk, uint8_t exp, bool abstained);
  const uint8_t* input(uint32_t chunk) const;
  const float* carried(uint32_t chunk) const { return c_.residual ? c_.residual + element(chunk) : nullptr; }

  Collective c_;
  kernels::Codec codec_;
  uint32_t lanes_, look_ahead_, chunks_, left_;
  size_t chunk_elements_;
  uint64_t index_, first_place_;
  std::vector<uint64_t> held_;  // bit per chunk
  std::vector<uint8_t> told_;   // exponent of chunk i + L; 0: unknown
  std::shared_ptr<ExponentRecord> record_, previous_;
  std::optional<size_t> own_bad_;  // element of ours that is not finite, in the chunk last found so
  CollectiveResult result_;
};

}  // namespace l3dml::host
