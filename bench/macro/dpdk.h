// DPDK's environment for the peers: once per process, two null ports, no hugepages wanted.
#pragma once

#include "absl/status/status.h"

namespace l3dml::bench {

// The calling thread keeps its CPU affinity, which DPDK would narrow.
absl::Status start_dpdk();

}  // namespace l3dml::bench
