// Predicts the exponents of a collective's first L chunks from the collective with the same key before it
// (DESIGN section 7). Ranks must agree without talking, so a prediction is a function of results alone, which
// all ranks hold alike, and never of when they came: a chunk whose predecessors are not held yet waits for
// them.
//
// Results tell how large sums were, not how large the summands: where an exponent was once asked for, the
// difference
// (`gap`) is remembered. How much they may grow from one step to the next shows in chunks that did not fit:
// each widens the block's margin, calm narrows it. Chunks are predicted in blocks, by the block's largest, so
// that the noise of single chunks does not cause repeats. Nothing known (a new key, a new epoch): the chunk
// asks first, which is always right.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dataplane/kernels/codec.h"
#include "tools/host/collective.h"

namespace l3dml::host {

constexpr uint32_t kBlockChunks = 64;

// What one collective's results say, block by block.
class ExponentRecord {
 public:
  ExponentRecord(uint32_t chunks, uint8_t least_margin, std::shared_ptr<ExponentRecord> previous);

  // For the chunks of the collective after it.
  enum class Known { yes, no, not_yet };
  struct Prediction {
    Known known;
    uint8_t exp;  // known == yes
  };
  Prediction predict(uint32_t chunk) const;

  // The final result of one of the first L chunks is held. `sum_exp`: what its mean needs (kExpMin: all
  // zero); `asked_exp`: what the chunk needed, if it was asked for, else 0. True if this completed a block:
  // then waiters of it may go on.
  bool add(uint32_t chunk, uint8_t sum_exp, uint8_t asked_exp);
  bool add_unknown(uint32_t chunk);  // the same; held in an earlier epoch, or not finite: says nothing

  uint32_t chunks() const { return chunks_; }
  std::vector<uint32_t>& waiters(uint32_t chunk) { return blocks_[chunk / kBlockChunks].waiters; }

 private:
  struct Block {
    uint32_t left = 0;    // chunks whose result is not held
    uint8_t sum_exp = 0;  // largest; 0: none
    uint8_t asked_exp = 0;
    bool all_asked = true;
    uint8_t predicted = 0;  // 0: nothing known
    uint8_t gap = 0;
    uint8_t margin = 0;             // bits left above the largest value seen
    uint8_t calm = 0;               // collectives since a chunk last did not fit
    std::vector<uint32_t> waiters;  // positions of the next collective
  };
  bool complete(uint32_t block);

  uint32_t chunks_, blocks_left_;
  uint8_t least_margin_;
  std::vector<Block> blocks_;
  std::shared_ptr<ExponentRecord> previous_;  // until all blocks are complete
};

class ExponentHistory {
 public:
  // Opens the record of a collective with `chunks` predicted chunks; `previous` receives that of the one
  // before it.
  std::shared_ptr<ExponentRecord> open(const Collective& collective, uint32_t chunks,
                                       std::shared_ptr<ExponentRecord>* previous);
  void clear() { records_.clear(); }

 private:
  struct Key {
    uint64_t key;
    size_t count;
    uint32_t chunks;
    uint8_t type, format, op;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const {
      size_t h = k.key * 0x9e3779b97f4a7c15u ^ k.count;
      return h * 0x9e3779b97f4a7c15u ^ (size_t{k.chunks} << 24 | k.type << 16 | k.format << 8 | k.op);
    }
  };
  struct Last {
    std::shared_ptr<ExponentRecord> record;
    uint64_t used = 0;
  };
  static constexpr size_t kMaxKeys = 4096;  // the one unused for longest goes, the same on every rank

  std::unordered_map<Key, Last, Hash> records_;
  uint64_t clock_ = 0;
};

}  // namespace l3dml::host
