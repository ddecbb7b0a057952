#pragma once

#include "dataplane/kernels/lanes.h"

namespace l3dml::kernels {
extern const LaneKernels kLanesScalar;
}
