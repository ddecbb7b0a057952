// The first half of the pipe: the table of contents of the program, in the order of p4/ingress.p4. admit() is
// in the cc file; aggregate(), which every gradient runs through, is here so that the blocks grow together.
#pragma once

#include "dataplane/blocks/aggregator.h"
#include "dataplane/blocks/context.h"
#include "dataplane/blocks/exponent.h"
#include "dataplane/blocks/next_step.h"
#include "dataplane/blocks/segment_receiver.h"
#include "dataplane/blocks/slot_state.h"
#include "dataplane/pipeline/program.h"

namespace l3dml::pipeline {

// The registers that ingress owns in one pipe.
struct IngressState {
  IngressState(const DeviceConfig& config, const tna::Pass* pass);

  uint32_t shards_per_pipe;
  blocks::SegmentReceiver segment_receiver;
  blocks::SlotState slot_state;
  blocks::Aggregator aggregator;
};

class Ingress {
 public:
  Ingress(const Program& program, unsigned pipe, IngressState* state)
      : program_(program), pipe_(pipe), state_(*state) {}

  // Is it for this switch, from a member, well-formed? Fills admit, job, slot, segment; or sets ctx.reason.
  // Returns the admission entry that decided, null if none did.
  const blocks::Admission::Row* admit(blocks::Context& ctx) const;

  // UP, DOWN, PROBE: everything up to the decision what leaves. Returns the hole the packet reveals, if any.
  blocks::Hole aggregate(blocks::Context& ctx) {
    blocks::Hole hole;
    if (ctx.type() != wire::Type::probe) {  // PROBE is not numbered
      const uint32_t seq = ctx.head->l3dml.seq.load();
      hole = state_.segment_receiver.receive(ctx.segment, seq, seq + 1);
    }
    state_.slot_state.apply(ctx);
    if (ctx.reason == base::DropReason::none) blocks::Exponent::apply(ctx);
    blocks::NextStep::apply(ctx);
    const bool emits = ctx.step == blocks::Step::answer_down || ctx.step == blocks::Step::send_up ||
                       ctx.step == blocks::Step::multicast_down;
    if (ctx.restart || ctx.adding)
      state_.aggregator.apply(ctx, emits && ctx.type() == wire::Type::up);
    else if (emits)
      state_.aggregator.apply(ctx, true);
    return hole;
  }
  // SYNC: only the numbering of the segment.
  blocks::Hole synchronise(blocks::Context& ctx);

 private:
  void locate(blocks::Context& ctx) const;
  void check_lanes(blocks::Context& ctx) const;

  const Program& program_;
  unsigned pipe_;
  IngressState& state_;
};

}  // namespace l3dml::pipeline
