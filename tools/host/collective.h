// One allreduce as a worker core sees it, and how it ended. All ranks submit the same collectives in the same
// order; type, format, op, count, key and layout agree on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/kernels/codec.h"

namespace l3dml::host {

enum class ReduceOp : uint8_t { sum, average };

// Which elements a stripe carries. A tensor is a row of cycles of `stride` elements; this stripe's chunks of
// each start at `starts` within it. stride 0: one stripe, chunk k starts at element k x (elements per chunk).
struct ChunkLayout {
  size_t stride = 0;
  std::span<const size_t> starts;  // ascending; outlives the collective
};

struct Collective {
  uint64_t id = 0;              // the caller's, comes back in CollectiveResult
  const void* input = nullptr;  // untouched by the caller until the end: resends and repeats read it again
  void* output = nullptr;  // may be `input`: an element is overwritten when its sum is held, never before
  size_t count = 0;        // elements
  kernels::ElementType type = kernels::ElementType::kFloat32;
  kernels::LaneFormat format = kernels::LaneFormat::kFixed32;
  ReduceOp op = ReduceOp::sum;
  // Names the place in the training step that recurs, so that the exponents of the time before predict those
  // of this one; with the same key a collective waits for the first results of the one before. 0 is as good a
  // key as others.
  uint64_t key = 0;
  // Error feedback and abstention: one float per element, added to the input, and left with what this rank's
  // part of the sums does not say (committed when the sum is held). Null: what is left out is lost.
  float* residual = nullptr;
  // Chunks first sent later than this go as UPs without lanes, weight 0 (DESIGN section 5, Abstention).
  int64_t abstain_after_ns = base::kNever;
  ChunkLayout layout;
};

struct CollectiveResult {
  uint64_t id = 0;
  bool finite = true;    // false: some rank had a value that is not finite, or 2^126 or more
  bool ours = false;     // not finite: it was this rank's
  bool agreed = true;    // false: ranks submitted different collectives
  size_t bad_first = 0;  // not finite: elements [bad_first, bad_end) hold it; one element where `ours`
  size_t bad_end = 0;
  uint64_t abstained_chunks = 0;  // sent empty by this rank
  uint32_t least_weight = 0;      // the fewest workers summed in a chunk
};

}  // namespace l3dml::host
