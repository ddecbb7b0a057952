// A job's plan: stripes with their trees, and what each switch and member was given for them. Everything that
// devices and workers are told is compiled from this value alone (compiler.h), so it is also what the store
// keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/jobs/resources.h"
#include "control/jobs/sizing.h"
#include "control/jobs/tree.h"

namespace l3dml::control {

struct StripeRequest {
  SiteId root = 0;
  double share = 1;  // relative; normalised over the stripes
  TreeOptions tree;
};

struct JobRequest {
  std::string name;
  std::vector<HostId> members;  // by rank; several ranks may live on one host
  std::vector<StripeRequest> stripes;
  uint16_t first_job = 1;  // data-plane job number of stripe 0; the others follow
  SizingOptions sizing;
};

// What one aggregator holds for a stripe.
struct AggregatorPlan {
  uint16_t job_index = 0;
  uint16_t mgid = 0;
  uint32_t slot_base = 0;
  std::vector<uint16_t> neighbors;  // by child
  uint16_t parent_neighbor = 0;     // 0: the root
  struct SeqRing {
    uint32_t base = 0, length = 0;  // length: a power of two
  };
  std::vector<SeqRing> seq_rings;  // by child
  SeqRing parent_seq_ring;
};

// Where a member stands in a stripe.
struct MemberPlace {
  int aggregator = 0;  // index into the stripe's tree
  int child = 0;
};

struct StripePlan {
  uint16_t job = 0;  // on the wire
  uint8_t epoch = 1;
  double share = 1;
  Tree tree;
  std::vector<AggregatorPlan> aggregators;  // as tree.aggregators
  std::vector<MemberPlace> members;         // by rank
  uint32_t window = 0;
  uint32_t ring = 0;    // slots per pipe
  uint32_t shards = 1;  // a power of two
  uint32_t first_number = 0;
  double rtt_s = 0, rate_bps = 0;
};

struct JobPlan {
  std::string name;
  std::vector<HostId> members;
  uint32_t lanes = 256;
  uint32_t look_ahead = 0;          // a power of two, at least every window of the job's life
  std::vector<uint16_t> udp_ports;  // by rank: where results go
  std::vector<StripePlan> stripes;
  double rate_bps = 0, goodput_bps = 0;
  std::string limit;
};

constexpr uint16_t kUdpPort = 19507;          // shard 0 of aggregators
constexpr uint16_t kFirstMemberPort = 19600;  // beyond the 64 ports of shards

// Plans a job and takes its resources from `devices` (by site); takes nothing on error.
// Where slots are short the window is halved, down to 32, before refusing; `limit` then says so.
absl::StatusOr<JobPlan> plan_job(const Topology& topology, const JobRequest& request,
                                 std::vector<DeviceResources>* devices);

// Plans one stripe of a running job anew for the ranks that are left and the switches that still aggregate in
// `topology`, and takes its resources; what it held before must be released. Job number, shards and share
// stay, the window stays within the job's look-ahead. Ranks that are not there get no place (aggregator -1).
// `roots`: of all stripes, as wished for; one that cannot be is replaced by the best.
absl::StatusOr<StripePlan> replan_stripe(const Topology& topology, const JobPlan& plan, size_t stripe,
                                         const std::vector<SiteId>& roots, const std::vector<int>& ranks,
                                         const SizingOptions& sizing, const TreeOptions& tree,
                                         std::vector<DeviceResources>* devices);

// Takes exactly what a plan holds, as when a controller starts again. False: part of it is taken by another.
bool reserve_job(const JobPlan& plan, std::vector<DeviceResources>* devices);

void release_job(const JobPlan& plan, std::vector<DeviceResources>* devices);
bool reserve_stripe(const StripePlan& stripe, std::vector<DeviceResources>* devices);
void release_stripe(const StripePlan& stripe, std::vector<DeviceResources>* devices);

}  // namespace l3dml::control
