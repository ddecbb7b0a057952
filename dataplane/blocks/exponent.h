// The exponents of a slot: p4/exponent.p4, register pair pipe.Ingress.exponent.exps (exp, exp_max). All lanes
// of a number are scaled by one exponent; a packet scaled otherwise makes exp_max 255, and the chunk will be
// repeated. exp_max also collects the children's wishes (next_exp); 254 (not finite) and 255 (does not fit)
// win as maxima.
#pragma once

#include <algorithm>

#include "dataplane/base/mutation.h"
#include "dataplane/blocks/context.h"

namespace l3dml::blocks {

class Exponent {
 public:
  static void apply(Context& ctx) {
    const wire::L3dmlHeader& header = ctx.head->l3dml;
    SlotEntry& entry = *ctx.entry;
    if (ctx.restart) {
      if (!L3DML_MUTATE(exponent_kept_on_restart)) entry.exp = header.exp;
      entry.exp_max = header.next_exp;
    } else if (ctx.adding) {
      const bool differ = header.exp != entry.exp && !L3DML_MUTATE(exponents_may_differ);
      if (L3DML_MUTATE(wish_of_the_last_counts)) entry.exp_max = 0;
      entry.exp_max = differ ? wire::kExpOverflow : std::max(entry.exp_max, header.next_exp);
      if (L3DML_MUTATE(non_finite_over_differing) && header.next_exp == wire::kExpNonFinite)
        entry.exp_max = header.next_exp;
    }
  }
};

}  // namespace l3dml::blocks
