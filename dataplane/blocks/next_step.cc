#include "dataplane/blocks/next_step.h"

#include "absl/strings/str_cat.h"

namespace l3dml::blocks {

using base::DropReason;

// The sum is complete: at the root it becomes the result, at an inner aggregator it goes to the parent.
void NextStep::finish(Context& ctx) {
  if (ctx.admit->role == Role::root) {
    ctx.entry->bitmap |= kDoneBit;
    ctx.step = Step::multicast_down;
  } else {
    ctx.step = Step::send_up;
  }
}

void NextStep::apply(Context& ctx) {
  if (ctx.reason != DropReason::none) return;
  switch (ctx.type()) {
    case wire::Type::up:
      if (ctx.done) {
        ctx.step = Step::answer_down;
      } else if (!ctx.complete) {
        ctx.reason = ctx.seen ? DropReason::duplicate : DropReason::consumed;
      } else {
        ctx.again = ctx.seen;
        finish(ctx);
      }
      break;
    case wire::Type::down:
      ctx.step = Step::multicast_down;
      break;
    case wire::Type::probe:
      if (ctx.relation == Relation::newer) {
        ctx.reason = DropReason::stale;
      } else if (ctx.done) {
        ctx.step = Step::answer_down;
      } else {
        ctx.step = Step::answer_probe;
        ctx.probe_answer = ctx.seen ? 1 : 0;
        ctx.again =
            ctx.complete && ctx.relation == Relation::equal;  // the sum is sent to the parent once more
      }
      break;
    default:
      break;
  }
  if (ctx.trace) [[unlikely]] {
    static constexpr const char* kNames[] = {"drop", "answer with DOWN", "multicast DOWN",
                                             "send UP to the parent", "answer PROBE"};
    ctx.trace->line(ctx.id, "Ingress.next_step",
                    ctx.step == Step::drop
                        ? absl::StrCat("drop: ", std::string(base::drop_reason_name(ctx.reason)))
                        : kNames[static_cast<size_t>(ctx.step)]);
  }
}

}  // namespace l3dml::blocks
