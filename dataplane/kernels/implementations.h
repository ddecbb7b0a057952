// Private to this folder: what each instruction set's files define, and the question which of them this CPU
// runs.
#pragma once

#include "dataplane/kernels/lanes.h"
#include "dataplane/kernels/quantize.h"

namespace l3dml::kernels {

extern const LaneKernels kLanesScalar, kLanesAvx2, kLanesAvx512;
extern const QuantizeKernels kQuantizeScalar, kQuantizeAvx2, kQuantizeAvx512;

// Asked once per list; the operating system's support for the registers counts as well.
bool cpu_has_avx2();
bool cpu_has_avx512();  // F, BW, DQ and VL

}  // namespace l3dml::kernels
