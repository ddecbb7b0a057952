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

void Aggregator::trace(const Context& ctx, const uint32_t* slot) {
  ctx.trace->line(ctx.id, "Ingress.aggregator",
                  absl::StrCat(ctx.restart  ? "set"
                               : ctx.adding ? "add"
                                            : "read",
                               " ", ctx.job->lanes, " lanes, first now ", static_cast<int32_t>(slot[0]),
                               ", weight ", ctx.entry->weight));
}

}  // namespace l3dml::blocks
