// What leaves the switch because of a packet: p4/next_step.p4, the const table
// pipe.Ingress.next_step.next_step.
#pragma once

#include "dataplane/base/mutation.h"
#include "dataplane/blocks/context.h"

namespace l3dml::blocks {

class NextStep {
 public:
  // Sets ctx.step (and reason where nothing leaves). May set the done bit of a root's entry: that is its
  // finish.
  static void apply(Context& ctx) {
    if (ctx.reason != base::DropReason::none) return;
    switch (ctx.type()) {
      case wire::Type::up:
        if (ctx.done) {
          ctx.step = Step::answer_down;
        } else if (!ctx.complete) {
          ctx.reason = ctx.seen ? base::DropReason::duplicate : base::DropReason::consumed;
        } else {
          ctx.again = ctx.seen;
          finish(ctx);
        }
        break;
      case wire::Type::down:
        ctx.step = Step::multicast_down;
        break;
      case wire::Type::probe:
        if (ctx.relation == Relation::newer && !L3DML_MUTATE(probe_without_stamp_test)) {
          ctx.reason = base::DropReason::stale;
        } else if (ctx.done || (L3DML_MUTATE(probe_without_stamp_test) && ctx.relation == Relation::newer)) {
          ctx.step = Step::answer_down;
        } else {
          ctx.step = Step::answer_probe;
          ctx.probe_answer = ctx.seen || L3DML_MUTATE(probe_always_says_waiting) ? 1 : 0;
          ctx.again = ctx.complete && ctx.relation == Relation::equal &&
                      !L3DML_MUTATE(probe_sends_no_sum);  // the sum is sent to the parent once more
        }
        break;
      default:
        break;
    }
    if (ctx.trace) [[unlikely]]
      trace(ctx);
  }

 private:
  // The sum is complete: at the root it becomes the result, at an inner aggregator it goes to the parent.
  static void finish(Context& ctx) {
    if (ctx.admit->role == Role::root) {
      if (!L3DML_MUTATE(root_never_done)) ctx.entry->bitmap |= kDoneBit;
      ctx.step = Step::multicast_down;
    } else {
      ctx.step = Step::send_up;
    }
  }
  static void trace(const Context& ctx);
};

}  // namespace l3dml::blocks
