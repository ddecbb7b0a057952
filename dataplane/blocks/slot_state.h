// What a packet means to its slot: p4/slot_state.p4, registers pipe.Ingress.slot_state.{stamp,bitmap,count}.
// The stamp is compared serially with the packet's number; a newer packet restarts the entry, a done entry
// never changes until then, and each child is added once. DESIGN section 5 has the table; ARCHITECTURE.md
// proves the reuse.
#pragma once

#include "dataplane/base/mutation.h"
#include "dataplane/base/serial.h"
#include "dataplane/blocks/context.h"
#include "dataplane/tna/register.h"

namespace l3dml::blocks {

class SlotState {
 public:
  SlotState(uint32_t slots, const tna::Pass* pass) : entries_(slots, pass) {}

  // The one access of the pass: sets ctx.entry, relation, restart, adding, seen, done, complete.
  void apply(Context& ctx) {
    SlotEntry& entry = entries_.access(ctx.slot);
    ctx.entry = &entry;
    const int32_t distance = L3DML_MUTATE(slot_numbers_compared_plainly)
                                 ? (entry.stamp > ctx.number) - (entry.stamp < ctx.number)
                                 : base::serial_distance(entry.stamp, ctx.number);
    ctx.relation = distance > 0 ? Relation::newer : distance == 0 ? Relation::equal : Relation::older;
    ctx.done = distance == 0 && (entry.bitmap & kDoneBit) && !L3DML_MUTATE(slot_done_overlooked);
    ctx.seen = distance == 0 && (entry.bitmap & ctx.admit->mask);
    switch (ctx.type()) {
      case wire::Type::up:
        apply_up(ctx, entry);
        break;
      case wire::Type::down:
        apply_down(ctx, entry);
        break;
      default:
        if (L3DML_MUTATE(probe_restarts) && ctx.relation == Relation::older) apply_up(ctx, entry);
        break;  // PROBE looks and leaves everything as it is
    }
    const uint16_t still_missing = L3DML_MUTATE(slot_complete_too_early) ? 1 : 0;
    ctx.complete = entry.stamp == ctx.number && entry.count <= still_missing;
    if (ctx.trace) [[unlikely]]
      trace(ctx, entry);
  }

  // The access of a pass that does all of apply() and what follows it by itself (pipeline/express.cc).
  SlotEntry& access(uint32_t slot) { return entries_.access(slot); }

  void prefetch(uint32_t slot) const { entries_.prefetch(slot); }
  SlotEntry& cell(uint32_t slot) { return entries_.cell(slot); }
  const SlotEntry& cell(uint32_t slot) const { return entries_.cell(slot); }
  uint32_t size() const { return entries_.size(); }

 private:
  static void apply_up(Context& ctx, SlotEntry& entry) {
    if (ctx.relation == Relation::newer && !L3DML_MUTATE(slot_stale_restarts)) {
      ctx.reason = base::DropReason::stale;
    } else if (ctx.relation != Relation::equal || L3DML_MUTATE(slot_equal_restarts)) {
      entry.stamp = ctx.number;
      entry.bitmap = ctx.admit->mask | (L3DML_MUTATE(slot_restart_keeps_bitmap) ? entry.bitmap : 0);
      entry.count = static_cast<uint16_t>(ctx.admit->children -
                                          (L3DML_MUTATE(slot_child_of_the_restart_uncounted) ? 0 : 1));
      ctx.restart = true;
    } else if (!ctx.done && (!ctx.seen || L3DML_MUTATE(slot_bitmap_test_skipped))) {
      entry.bitmap |= ctx.admit->mask;
      --entry.count;
      ctx.adding = true;
    }
  }
  static void apply_down(Context& ctx, SlotEntry& entry) {
    if ((ctx.relation == Relation::newer && !L3DML_MUTATE(down_without_stamp_test)) || ctx.done) {
      ctx.reason = base::DropReason::down_repeated;
      return;
    }
    entry.stamp = ctx.number;
    entry.bitmap |= L3DML_MUTATE(down_leaves_entry_open) ? 0 : kDoneBit;
    entry.count = 0;
    ctx.restart = true;  // lanes, exponents and weight are those of the packet
  }
  static void trace(const Context& ctx, const SlotEntry& entry);

  tna::Register<SlotEntry> entries_;
};

}  // namespace l3dml::blocks
