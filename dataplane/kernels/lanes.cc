#include "dataplane/kernels/lanes.h"

#include "dataplane/kernels/lanes_scalar.h"

namespace l3dml::kernels {
namespace {

const LaneKernels* choose(std::string_view name) {
  const LaneKernelsList list = available_lane_kernels();
  if (name == "auto") return list.items[list.count - 1];
  for (size_t i = 0; i < list.count; ++i)
    if (list.items[i]->name == name) return list.items[i];
  return nullptr;
}

const LaneKernels* g_chosen = nullptr;  // written before packets flow

}  // namespace

LaneKernelsList available_lane_kernels() { return {{&kLanesScalar}, 1}; }

const LaneKernels& lane_kernels() {
  if (!g_chosen) g_chosen = choose("auto");
  return *g_chosen;
}

bool force_lane_kernels(std::string_view name) {
  const LaneKernels* found = choose(name);
  if (found) g_chosen = found;
  return found != nullptr;
}

}  // namespace l3dml::kernels
