#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {
namespace {

const LaneKernels* choose(std::string_view name) {
  const LaneKernelsList list = available_lane_kernels();
  if (name == "auto") return list.items[list.count - 1];
  for (size_t i = 0; i < list.count; ++i)
    if (list.items[i]->name == name) return list.items[i];
  return nullptr;
}

const LaneKernels*& chosen() {  // written before packets flow
  static const LaneKernels* kernels = choose("auto");
  return kernels;
}

}  // namespace

LaneKernelsList available_lane_kernels() {
  LaneKernelsList list = {{&kLanesScalar}, 1};
#ifdef L3DML_KERNELS_X86
  if (cpu_has_avx2()) list.items[list.count++] = &kLanesAvx2;
  if (cpu_has_avx512()) list.items[list.count++] = &kLanesAvx512;
#endif
  return list;
}

const LaneKernels& lane_kernels() { return *chosen(); }

bool force_lane_kernels(std::string_view name) {
  const LaneKernels* found = choose(name);
  if (found) chosen() = found;
  return found != nullptr;
}

}  // namespace l3dml::kernels
