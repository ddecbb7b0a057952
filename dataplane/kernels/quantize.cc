#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {
namespace {

const QuantizeKernels* choose(std::string_view name) {
  const QuantizeKernelsList list = available_quantize_kernels();
  if (name == "auto") return list.items[list.count - 1];
  for (size_t i = 0; i < list.count; ++i)
    if (list.items[i]->name == name) return list.items[i];
  return nullptr;
}

const QuantizeKernels*& chosen() {  // written before packets flow
  static const QuantizeKernels* kernels = choose("auto");
  return kernels;
}

}  // namespace

QuantizeKernelsList available_quantize_kernels() {
  QuantizeKernelsList list = {{&kQuantizeScalar}, 1};
#ifdef L3DML_KERNELS_X86
  if (cpu_has_avx2()) list.items[list.count++] = &kQuantizeAvx2;
  if (cpu_has_avx512()) list.items[list.count++] = &kQuantizeAvx512;
#endif
  return list;
}

const QuantizeKernels& quantize_kernels() { return *chosen(); }

bool force_quantize_kernels(std::string_view name) {
  const QuantizeKernels* found = choose(name);
  if (found) chosen() = found;
  return found != nullptr;
}

}  // namespace l3dml::kernels
