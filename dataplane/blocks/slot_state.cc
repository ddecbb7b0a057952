#include "dataplane/blocks/slot_state.h"

#include "absl/strings/str_cat.h"
#include "dataplane/base/serial.h"

namespace l3dml::blocks {

using base::DropReason;

void SlotState::apply(Context& ctx) {
  SlotEntry& entry = entries_.access(ctx.slot);
  ctx.entry = &entry;
  const int32_t distance = base::serial_distance(entry.stamp, ctx.number);
  ctx.relation = distance > 0 ? Relation::newer : distance == 0 ? Relation::equal : Relation::older;
  ctx.done = ctx.relation == Relation::equal && (entry.bitmap & kDoneBit);
  ctx.seen = ctx.relation == Relation::equal && (entry.bitmap & ctx.admit->mask);
  switch (ctx.type()) {
    case wire::Type::up:
      apply_up(ctx, entry);
      break;
    case wire::Type::down:
      apply_down(ctx, entry);
      break;
    default:
      break;  // PROBE looks and leaves everything as it is
  }
  ctx.complete = entry.stamp == ctx.number && entry.count == 0;
  if (ctx.trace) [[unlikely]]
    ctx.trace->line(ctx.id, "Ingress.slot_state",
                    absl::StrCat("slot ", ctx.slot, " stamp ",
                                 ctx.relation == Relation::newer   ? "newer"
                                 : ctx.relation == Relation::equal ? "equal"
                                                                   : "older",
                                 ctx.restart ? ", restart" : "", ctx.adding ? ", add" : "",
                                 ctx.seen ? ", seen" : "", ctx.done ? ", done" : "", ", bitmap ",
                                 absl::Hex(entry.bitmap), ", missing ", entry.count));
}

void SlotState::apply_up(Context& ctx, SlotEntry& entry) {
  if (ctx.relation == Relation::newer) {
    ctx.reason = DropReason::stale;
  } else if (ctx.relation == Relation::older) {
    entry.stamp = ctx.number;
    entry.bitmap = ctx.admit->mask;
    entry.count = static_cast<uint16_t>(ctx.admit->children - 1);
    ctx.restart = true;
  } else if (!ctx.done && !ctx.seen) {
    entry.bitmap |= ctx.admit->mask;
    --entry.count;
    ctx.adding = true;
  }
}

void SlotState::apply_down(Context& ctx, SlotEntry& entry) {
  if (ctx.relation == Relation::newer || ctx.done) {
    ctx.reason = DropReason::down_repeated;
    return;
  }
  entry.stamp = ctx.number;
  entry.bitmap |= kDoneBit;
  entry.count = 0;
  ctx.restart = true;  // lanes, exponents and weight are those of the packet
}

}  // namespace l3dml::blocks
