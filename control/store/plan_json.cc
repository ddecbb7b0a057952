#include "control/store/plan_json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace l3dml::control {

NLOHMANN_JSON_SERIALIZE_ENUM(NodeKind, {{NodeKind::worker, "worker"}, {NodeKind::aggregator, "aggregator"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Child, kind, index)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Aggregator, site, parent, child_index, children)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tree, aggregators)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AggregatorPlan::SeqRing, base, length)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AggregatorPlan, job_index, mgid, slot_base, neighbors, parent_neighbor,
                                   seq_rings, parent_seq_ring)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemberPlace, aggregator, child)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StripePlan, job, epoch, share, tree, aggregators, members, window, ring,
                                   shards, first_number, rtt_s, rate_bps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobPlan, name, members, lanes, look_ahead, udp_ports, stripes, rate_bps,
                                   goodput_bps, limit)

std::string to_json(const JobPlan& plan) { return nlohmann::json(plan).dump(); }

absl::StatusOr<JobPlan> plan_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<JobPlan>();
  } catch (const nlohmann::json::exception& e) {
    return absl::DataLossError(absl::StrCat("a stored job cannot be read: ", e.what()));
  }
}

}  // namespace l3dml::control
