// The lanes and weights of the slots: p4/aggregator.p4, registers pipe.Ingress.aggregator.{lanesNN,weight}.
// Sums are 32-bit wrapping adds, so they do not depend on the order of arrival. A packet that completes its
// slot leaves with the sum in it: on the chip by one more pass (harvest), here in the same one.
#pragma once

#include <memory>

#include "dataplane/blocks/context.h"
#include "dataplane/kernels/lanes.h"

namespace l3dml::blocks {

class Aggregator {
 public:
  Aggregator(uint32_t slots, uint32_t lanes);

  // Puts the packet's lanes into ctx.slot if slot_state said so (restart, adding). With `emit` the sum is
  // also left in the packet, and its checksum in packet->sum.
  void apply(Context& ctx, bool emit);
  // Writes the slot's lanes, big-endian, to `out` (4 bytes a lane); returns their checksum.
  uint16_t emit(uint32_t slot, uint32_t count, uint8_t* out) const {
    return kernels_->emit(out, lanes(slot), count);
  }

  uint32_t* lanes(uint32_t slot) { return memory_.get() + size_t{slot} * stride_; }
  const uint32_t* lanes(uint32_t slot) const { return memory_.get() + size_t{slot} * stride_; }
  uint32_t lanes_per_slot() const { return stride_; }
  void prefetch(uint32_t slot, uint32_t count) const;

 private:
  struct Free {
    void operator()(uint32_t* memory) const;
  };
  const kernels::LaneKernels* kernels_;
  uint32_t stride_;  // lanes per slot
  std::unique_ptr<uint32_t, Free> memory_;
};

}  // namespace l3dml::blocks
