// Counters of one stripe's worker; plain sums since it was made. Read on the thread of the core.
#pragma once

#include <cstdint>

namespace l3dml::host {

struct WorkerStats {
  void add(const WorkerStats& other);  // counters are summed, times are those of the slowest

  // sent
  uint64_t ups = 0;            // UPs, all of them
  uint64_t empty_ups = 0;      // of these without lanes
  uint64_t retransmitted = 0;  // of these sent before
  uint64_t wire_bytes = 0;     // frames of all types with their heads, without FCS
  uint64_t nacks_sent = 0;
  uint64_t syncs_sent = 0;
  uint64_t probes_sent = 0;
  // received
  uint64_t downs = 0;          // results that were of use
  uint64_t downs_ignored = 0;  // for numbers not sent or already held
  uint64_t downs_missing = 0;  // seqs found missing in the down segment
  uint64_t nacks_received = 0;
  uint64_t nacked = 0;  // UPs that were sent again because of a NACK
  uint64_t probes_answered = 0;
  uint64_t probe_missing = 0;   // answers 0: the UP was sent again
  uint64_t probe_timeouts = 0;  // probes that nobody answered in time
  uint64_t refused = 0;         // packets that were not for us, or paused
  uint64_t congested = 0;       // results marked CE or ECE
  // chunks
  uint64_t chunks = 0;   // finished
  uint64_t repeats = 0;  // results to be repeated: exponent too small, unknown, or not agreed on
  uint64_t asked = 0;    // of these, chunks whose first pass asked for the exponent
  uint64_t abstained = 0;
  // time
  int64_t segment_rtt_ns = 0;  // smoothed, to the aggregator and back; 0: no sample yet
  int64_t result_time_ns = 0;  // smoothed, from an UP to its result
  int64_t probe_time_ns = 0;   // after which a silent number is probed
};

}  // namespace l3dml::host
