#include "dataplane/kernels/implementations.h"

namespace l3dml::kernels {

#ifdef L3DML_KERNELS_X86
bool cpu_has_avx2() { return __builtin_cpu_supports("avx2"); }
bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace l3dml::kernels
