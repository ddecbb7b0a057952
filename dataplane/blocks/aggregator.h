// The lanes and weights of the slots: p4/aggregator.p4, registers pipe.Ingress.aggregator.{lanesNN,weight}.
// Sums are 32-bit wrapping adds, so they do not depend on the order of arrival. A packet that completes its
// slot leaves with the sum in it: on the chip by one more pass (harvest), here in the same one.
#pragma once

#include <cstring>
#include <memory>

#include "dataplane/base/mutation.h"
#include "dataplane/blocks/context.h"
#include "dataplane/kernels/lanes.h"

namespace l3dml::blocks {

class Aggregator {
 public:
  Aggregator(uint32_t slots, uint32_t lanes);

  // Puts the packet's lanes into ctx.slot if slot_state said so (restart, adding). With `emit` the sum is
  // also left in the packet, and its checksum in packet->sum.
  void apply(Context& ctx, bool emit_sum) {
    const wire::L3dmlHeader& header = ctx.head->l3dml;
    const uint32_t count = ctx.job->lanes;
    uint32_t* slot = lanes(ctx.slot);
    bool left_in_packet = false;
    if (ctx.restart) {
      ctx.entry->weight = static_cast<uint16_t>(
          header.weight.load() + (L3DML_MUTATE(weight_kept_on_restart) ? ctx.entry->weight : 0));
      if (ctx.has_lanes()) {
        kernels_->set(slot, ctx.parsed.lanes, count);
        left_in_packet = true;
      } else if (!L3DML_MUTATE(empty_first_up_writes_no_zeros)) {
        std::memset(slot, 0, count * sizeof(uint32_t));
      }
    } else if (ctx.adding) {
      if (!L3DML_MUTATE(weight_not_added))
        ctx.entry->weight = static_cast<uint16_t>(ctx.entry->weight + header.weight.load());
      left_in_packet = ctx.has_lanes();
      if (left_in_packet && emit_sum && !L3DML_MUTATE(completing_packet_keeps_its_lanes)) {
        ctx.packet->sum = kernels_->add_and_emit(slot, ctx.parsed.lanes, count);
        ctx.packet->has_sum = true;
      } else if (left_in_packet) {
        kernels_->add(slot, ctx.parsed.lanes, count);
      }
    }
    if (emit_sum && !left_in_packet) {
      ctx.packet->sum = kernels_->emit(ctx.parsed.lanes, slot, count);
      ctx.packet->has_sum = true;
    }
    if (ctx.trace) [[unlikely]]
      trace(ctx, slot);
  }
  // The three things that happen to lanes, by themselves.
  void start(uint32_t slot, const uint8_t* lanes_in, uint32_t count) {
    kernels_->set(lanes(slot), lanes_in, count);
  }
  void add(uint32_t slot, const uint8_t* lanes_in, uint32_t count) {
    kernels_->add(lanes(slot), lanes_in, count);
  }
  uint16_t add_and_emit(uint32_t slot, uint8_t* lanes_in_out, uint32_t count) {
    return kernels_->add_and_emit(lanes(slot), lanes_in_out, count);
  }
  // Writes the slot's lanes, big-endian, to `out` (4 bytes a lane); returns their checksum.
  uint16_t emit(uint32_t slot, uint32_t count, uint8_t* out) const {
    return kernels_->emit(out, lanes(slot), count);
  }

  uint32_t* lanes(uint32_t slot) { return memory_.get() + size_t{slot} * stride_; }
  const uint32_t* lanes(uint32_t slot) const { return memory_.get() + size_t{slot} * stride_; }
  uint32_t lanes_per_slot() const { return stride_; }
  void prefetch(uint32_t slot, uint32_t count) const {
    const char* line = reinterpret_cast<const char*>(lanes(slot));
    for (uint32_t i = 0; i < count * sizeof(uint32_t); i += 256)  // lanes come by 64
      for (uint32_t k = 0; k < 256; k += 64) __builtin_prefetch(line + i + k, 1);
  }

 private:
  static void trace(const Context& ctx, const uint32_t* slot);
  struct Free {
    void operator()(uint32_t* memory) const;
  };
  const kernels::LaneKernels* kernels_;
  uint32_t stride_;  // lanes per slot
  std::unique_ptr<uint32_t, Free> memory_;
};

}  // namespace l3dml::blocks
