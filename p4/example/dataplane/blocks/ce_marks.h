// The worked example's x86 half (p4/README.md, "How to add a block"): counts packets of members that met
// congestion, by neighbour. Twin: p4/example/ce_marks.p4. Not part of the program; a test builds it into a
// copy of the pipeline.
#pragma once

#include "dataplane/blocks/context.h"
#include "dataplane/tna/counter.h"

namespace l3dml::blocks {

class CeMarks {
 public:
  explicit CeMarks(uint32_t neighbors) : marks_(neighbors, tna::CounterType::packets) {}

  // After admission, whether tables or the flow cache answered: the packet is a member's, sent to an address
  // of this switch.
  void apply(const Context& ctx) {
    if (ctx.parsed.ce && ctx.admit->neighbor < marks_.size())
      marks_.count(ctx.admit->neighbor, ctx.packet->frame_size());
  }
  tna::Counter& marks() { return marks_; }

 private:
  tna::Counter marks_;  // pipe.Ingress.ce_marks.marks
};

}  // namespace l3dml::blocks
