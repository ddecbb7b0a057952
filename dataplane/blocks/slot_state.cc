#include "dataplane/blocks/slot_state.h"

#include "absl/strings/str_cat.h"

namespace l3dml::blocks {

void SlotState::trace(const Context& ctx, const SlotEntry& entry) {
  ctx.trace->line(ctx.id, "Ingress.slot_state",
                  absl::StrCat("slot ", ctx.slot, " stamp ",
                               ctx.relation == Relation::newer   ? "newer"
                               : ctx.relation == Relation::equal ? "equal"
                                                                 : "older",
                               ctx.restart ? ", restart" : "", ctx.adding ? ", add" : "",
                               ctx.seen ? ", seen" : "", ctx.done ? ", done" : "", ", bitmap ",
                               absl::Hex(entry.bitmap), ", missing ", entry.count));
}

}  // namespace l3dml::blocks
