#include "dataplane/blocks/next_step.h"

#include "absl/strings/str_cat.h"

namespace l3dml::blocks {

void NextStep::trace(const Context& ctx) {
  static constexpr const char* kNames[] = {"drop", "answer with DOWN", "multicast DOWN",
                                           "send UP to the parent", "answer PROBE"};
  ctx.trace->line(ctx.id, "Ingress.next_step",
                  ctx.step == Step::drop
                      ? absl::StrCat("drop: ", std::string(base::drop_reason_name(ctx.reason)))
                      : kNames[static_cast<size_t>(ctx.step)]);
}

}  // namespace l3dml::blocks
