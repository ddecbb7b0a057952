// What one run of the simulator does, as plain data: network, jobs, trouble. A scenario is a function of its
// seed (generate.cc); the performance modes write theirs by hand (modes/).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/io/link_parameters.h"
#include "dataplane/kernels/codec.h"
#include "tools/host/collective.h"
#include "tools/sim/tree.h"

namespace l3dml::sim {

struct LinkSpec {  // a cable; both ways alike
  bool to_host = false;
  uint32_t a = 0;  // device
  uint32_t b = 0;  // device or host
  io::LinkParameters parameters;
};

struct CollectiveSpec {
  size_t count = 0;  // elements
  kernels::ElementType type = kernels::ElementType::kFloat32;
  kernels::LaneFormat format = kernels::LaneFormat::kFixed32;
  host::ReduceOp op = host::ReduceOp::sum;
  uint64_t key = 0;
  int magnitude = 0;                  // floats lie within +-2^magnitude
  bool not_finite = false;            // one element of one member is not a number
  bool in_place = false;              // output = input
  bool residual = false;              // what is left out is kept
  int64_t abstain_ns = base::kNever;  // after submission; kNever: never
};

struct MemberSpec {
  uint32_t host = 0;
  int64_t gap_ns = 0;    // mean time between collectives of its own making (computation)
  uint32_t queued = 1;   // collectives it submits ahead
  int64_t start_ns = 0;  // nothing is submitted before
};

struct JobSpec {
  std::vector<MemberSpec> members;
  std::vector<MemberSpec> joiners;  // may join later
  uint32_t depth = 1;               // of the tree, at most; levels of aggregators
  uint32_t lanes = 64;
  uint32_t window = 16;        // the largest of its life
  bool window_varies = false;  // epochs may use smaller ones
  uint32_t shards = 1;
  uint32_t ring = 32;          // per shard
  uint32_t seq_ring = 64;      // entries of a segment's seq -> number ring
  uint32_t newest_number = 0;  // where the numbers stand at the start; stamps alike
  uint32_t first_seq = 0;      // where the first epoch's segment numbers start
  int64_t start_ns = 0;
  uint64_t rate_bps = 0;     // ceiling of each member; 0: none
  double odd_exponents = 0;  // share of numbers of which one member gets the exponent wrong
  std::vector<CollectiveSpec> collectives;
  Tree fixed_tree;  // instead of a drawn one, if it has aggregators
};

enum class FaultKind : uint8_t {
  change_wanted,   // the planner would like another tree or window
  device_restart,  // registers and tables empty at once; the coordinator hears of it after `aux`
  device_death,    // for good, with the hosts behind it
  member_death,    // the coordinator hears of it after `aux`
  member_join,
  link_down,       // for `aux`
  device_silent,   // its driver hears nothing for `aux`, while packets flow on
  member_silent,   // messages between it and the coordinator are lost for `aux`
  member_restart,  // dies, and comes back as a newcomer on the same host
};

struct Fault {
  int64_t time_ns = 0;
  FaultKind kind = FaultKind::change_wanted;
  uint32_t job = 0;
  uint32_t index = 0;   // device, member or link
  uint32_t joiner = 0;  // of member_join and member_restart: which of the job's
  int64_t aux_ns = 0;
};

struct Scenario {
  uint64_t seed = 0;
  uint32_t devices = 1;
  unsigned pipes = 1;
  uint32_t shards_per_pipe = 1;
  int64_t sync_idle_ns = 200'000;
  std::vector<uint32_t> hosts;  // device that each one hangs on
  std::vector<LinkSpec> links;
  std::vector<JobSpec> jobs;
  std::vector<Fault> faults;
  uint32_t withheld = 0;               // bit per L3DML type that never arrives
  double forged = 0;                   // forged packets per packet
  uint64_t most_packets = 60'000'000;  // a run that needs more goes in circles
  bool fastest_ways = false;           // packets take the way of least delay, not that of fewest cables
  bool detours = false;                // there and back take different ways, where there is more than one
  int64_t poll_interval_ns = 0;        // devices look at their ports only so often: bursts; 0: at once
  int64_t control_min_ns = 0, control_max_ns = 0;  // one way of a message to or from the coordinator

  std::string describe() const;  // one line, for people
};

// Wide: also residuals, ranks that disagree on an exponent, members that fall silent; see README.
Scenario generate(uint64_t seed, bool wide = false);

}  // namespace l3dml::sim
