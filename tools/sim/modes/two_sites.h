// Two sites with a switch and two workers each, and a WAN link between them. The root is at site 1; at site 0
// an inner aggregator sums before the WAN. What most measurements are made on.
#pragma once

#include "tools/sim/scenario.h"

namespace l3dml::sim {

constexpr uint64_t kWanBps = 1'000'000'000;
constexpr int64_t kWanDelayNs = 25 * base::kMillisecond;  // one way
constexpr uint32_t kModeLanes = 320;
constexpr uint32_t kFrameBytes = 86 + 4 * kModeLanes;  // with all headers
constexpr uint32_t kWireBytes = kFrameBytes + 24;      // with preamble, check sequence and gap

// `jobs` jobs of `collectives` collectives of `chunks` chunks each. Every worker may send at `share` of the
// WAN's rate. The window is rate x round trip x 1.5, rounded up, as the controller computes it.
Scenario two_sites(uint32_t jobs, uint32_t collectives, uint32_t chunks, double share,
                   const io::LossModel& loss);

// One more host at a site, for traffic that is not the jobs'.
uint32_t add_host(Scenario* scenario, uint32_t site);

// Bits of the tensor that a member of a job was given per second, from the end of its first collective to the
// end of its last; the largest share that headers leave is 4 x lanes / kWireBytes.
inline double header_ceiling() { return 4.0 * kModeLanes / kWireBytes; }

}  // namespace l3dml::sim
