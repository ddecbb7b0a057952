// Starts DPDK's environment once per process. Without free hugepages it runs on ordinary memory; nothing is
// left behind in the file system, so that several switches can run side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace l3dml::io {

struct EalConfig {
  std::vector<std::string> arguments;  // as the user gave them, they win over what is added here
  uint64_t memory_bytes = 64 << 20;    // what pools will need; a fixed reservation without hugepages
};

// Once per process; later calls return what the first one did.
absl::Status start_eal(const EalConfig& config);
// The arguments that start_eal would use, for --dry-run and tests.
std::vector<std::string> eal_arguments(const EalConfig& config, bool hugepages_free);
bool hugepages_free();

// Lets the calling thread use DPDK's per-thread caches. Failing to is harmless (slower).
void register_dpdk_thread();
void unregister_dpdk_thread();

}  // namespace l3dml::io
