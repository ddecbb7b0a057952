// What leaves the switch because of a packet: p4/next_step.p4, the const table
// pipe.Ingress.next_step.next_step.
#pragma once

#include "dataplane/blocks/context.h"

namespace l3dml::blocks {

class NextStep {
 public:
  // Sets ctx.step (and reason where nothing leaves). May set the done bit of a root's entry: that is its
  // finish.
  static void apply(Context& ctx);

 private:
  static void finish(Context& ctx);
};

}  // namespace l3dml::blocks
