// How a job's chunks are dealt to its stripes by share: a cycle of at most 64 chunks, interleaved as evenly
// as shares allow, repeats over the tensor. A function of the stripes alone, so all ranks deal alike.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tools/host/collective.h"
#include "tools/host/job_config.h"

namespace l3dml::host {

class ChunkSplit {
 public:
  explicit ChunkSplit(std::span<const StripeConfig> stripes);

  // The part of stripe `stripe`; refers into this object.
  ChunkLayout layout(unsigned stripe, kernels::LaneFormat format) const;

 private:
  struct Cycle {
    size_t stride = 0;                        // elements
    std::vector<std::vector<size_t>> starts;  // by stripe
  };
  std::array<Cycle, kernels::kLaneFormats> cycles_;
};

}  // namespace l3dml::host
