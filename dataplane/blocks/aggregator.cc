#include "dataplane/blocks/aggregator.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "absl/strings/str_cat.h"

namespace l3dml::blocks {

void Aggregator::Free::operator()(uint32_t* memory) const { std::free(memory); }

Aggregator::Aggregator(uint32_t slots, uint32_t lanes) : kernels_(&kernels::lane_kernels()), stride_(lanes) {
  constexpr size_t kHuge =
      size_t{2} << 20;  // transparent huge pages where the kernel gives them: fewer TLB misses
  const size_t size = size_t{slots} * lanes * sizeof(uint32_t);
  const size_t alignment = size >= kHuge ? kHuge : 64;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  if (alignment == kHuge) madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 0, size);
  memory_.reset(static_cast<uint32_t*>(memory));
}

void Aggregator::apply(Context& ctx, bool emit_sum) {
  const wire::L3dmlHeader& header = ctx.head->l3dml;
  const uint32_t count = ctx.job->lanes;
  uint32_t* slot = lanes(ctx.slot);
  if (ctx.restart) {
    ctx.entry->weight = header.weight.load();
    if (ctx.has_lanes()) {
      kernels_->set(slot, ctx.parsed.lanes, count);
    } else {
      std::memset(slot, 0, count * sizeof(uint32_t));
    }
  } else if (ctx.adding) {
    ctx.entry->weight = static_cast<uint16_t>(ctx.entry->weight + header.weight.load());
    if (ctx.has_lanes() && emit_sum) {
      ctx.packet->sum = kernels_->add_and_emit(slot, ctx.parsed.lanes, count);
      ctx.packet->has_sum = true;
    } else if (ctx.has_lanes()) {
      kernels_->add(slot, ctx.parsed.lanes, count);
    }
  }
  const bool left_in_packet = ctx.has_lanes() && (ctx.adding || ctx.restart);
  if (emit_sum && !left_in_packet) {
    ctx.packet->sum = kernels_->emit(ctx.parsed.lanes, slot, count);
    ctx.packet->has_sum = true;
  }
  if (ctx.trace) [[unlikely]]
    ctx.trace->line(ctx.id, "Ingress.aggregator",
                    absl::StrCat(ctx.restart  ? "set"
                                 : ctx.adding ? "add"
                                              : "read",
                                 " ", count, " lanes, first now ", static_cast<int32_t>(slot[0]), ", weight ",
                                 ctx.entry->weight));
}

void Aggregator::prefetch(uint32_t slot, uint32_t count) const {
  const char* line = reinterpret_cast<const char*>(lanes(slot));
  for (uint32_t i = 0; i < count * sizeof(uint32_t); i += 64) __builtin_prefetch(line + i, 1);
}

}  // namespace l3dml::blocks
