// The first half of the pipe. Its cc file is the table of contents of the program, in the order of
// p4/ingress.p4.
#pragma once

#include "dataplane/blocks/aggregator.h"
#include "dataplane/blocks/context.h"
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
  Ingress(const Program& program, IngressState* state) : program_(program), state_(*state) {}

  // Is it for this switch, from a member, well-formed? Fills admit, job, slot, segment; or sets ctx.reason.
  // Split in two so that a burst's memory can be fetched in between.
  void look_up(blocks::Context& ctx, blocks::Admission::Key* key) const;
  void admit(blocks::Context& ctx, const blocks::Admission::Key& key) const;

  // UP, DOWN, PROBE: everything up to the decision what leaves. Returns the hole the packet reveals, if any.
  blocks::Hole aggregate(blocks::Context& ctx);
  // SYNC: only the numbering of the segment.
  blocks::Hole synchronise(blocks::Context& ctx);

 private:
  void check_lanes(blocks::Context& ctx) const;

  const Program& program_;
  IngressState& state_;
};

}  // namespace l3dml::pipeline
