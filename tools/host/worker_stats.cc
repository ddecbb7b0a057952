#include "tools/host/worker_stats.h"

#include <algorithm>

namespace l3dml::host {

void WorkerStats::add(const WorkerStats& o) {
  static constexpr uint64_t WorkerStats::*kCounters[] = {&WorkerStats::ups,
                                                         &WorkerStats::empty_ups,
                                                         &WorkerStats::retransmitted,
                                                         &WorkerStats::wire_bytes,
                                                         &WorkerStats::nacks_sent,
                                                         &WorkerStats::syncs_sent,
                                                         &WorkerStats::probes_sent,
                                                         &WorkerStats::downs,
                                                         &WorkerStats::downs_ignored,
                                                         &WorkerStats::downs_missing,
                                                         &WorkerStats::nacks_received,
                                                         &WorkerStats::nacked,
                                                         &WorkerStats::probes_answered,
                                                         &WorkerStats::probe_missing,
                                                         &WorkerStats::probe_timeouts,
                                                         &WorkerStats::refused,
                                                         &WorkerStats::congested,
                                                         &WorkerStats::chunks,
                                                         &WorkerStats::repeats,
                                                         &WorkerStats::asked,
                                                         &WorkerStats::abstained};
  static_assert(sizeof kCounters / sizeof *kCounters + 3 == sizeof(WorkerStats) / 8,
                "a counter is missing here");
  for (const auto counter : kCounters) this->*counter += o.*counter;
  segment_rtt_ns = std::max(segment_rtt_ns, o.segment_rtt_ns);
  result_time_ns = std::max(result_time_ns, o.result_time_ns);
  probe_time_ns = std::max(probe_time_ns, o.probe_time_ns);
}

}  // namespace l3dml::host
