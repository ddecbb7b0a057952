// What a packet means to its slot: p4/slot_state.p4, registers pipe.Ingress.slot_state.{stamp,bitmap,count}.
// The stamp is compared serially with the packet's number; a newer packet restarts the entry, a done entry
// never changes until then, and each child is added once. DESIGN section 5 has the table; ARCHITECTURE.md
// proves the reuse.
#pragma once

#include "dataplane/blocks/context.h"
#include "dataplane/tna/register.h"

namespace l3dml::blocks {

class SlotState {
 public:
  SlotState(uint32_t slots, const tna::Pass* pass) : entries_(slots, pass) {}

  // The one access of the pass: sets ctx.entry, relation, restart, adding, seen, done, complete.
  void apply(Context& ctx);

  void prefetch(uint32_t slot) const { entries_.prefetch(slot); }
  SlotEntry& cell(uint32_t slot) { return entries_.cell(slot); }
  const SlotEntry& cell(uint32_t slot) const { return entries_.cell(slot); }
  uint32_t size() const { return entries_.size(); }

 private:
  void apply_up(Context& ctx, SlotEntry& entry);
  void apply_down(Context& ctx, SlotEntry& entry);

  tna::Register<SlotEntry> entries_;
};

}  // namespace l3dml::blocks
