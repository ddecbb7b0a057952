#include "bench/macro/dpdk.h"

#include <sched.h>

#include "dataplane/io/eal.h"

namespace l3dml::bench {

absl::Status start_dpdk() {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  io::EalConfig config;
  config.memory_bytes = uint64_t{256} << 20;
  config.arguments = {"--log-level=error", "--vdev=net_null0,copy=0", "--vdev=net_null1,copy=0"};
  const absl::Status status = io::start_eal(config);
  sched_setaffinity(0, sizeof cpus, &cpus);
  return status;
}

}  // namespace l3dml::bench
