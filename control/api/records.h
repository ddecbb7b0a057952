// The stored form of topology and jobs.
#pragma once

#include <nlohmann/json.hpp>

#include "control/api/controller.h"

namespace l3dml::control {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Capability, name, pipes, slots, lanes, lanes_per_pass, neighbors,
                                   seq_entries, jobs, groups)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SiteRecord, name, address, device_id, router)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostRecord, name, site, rate_bps, delay_s, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkRecord, name, a, b, rate_bps, delay_s, loss, port_a, port_b, down)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobSpecification, name, hosts, roots, stripes, lanes, lease_s)

struct MemberRecord {
  bool joined = false, left = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemberRecord, joined, left)

struct JobRecord {
  JobSpecification specification;
  std::string token, state, reason, plan;  // plan: plan_json.h; empty once ended
  std::vector<MemberRecord> members;       // by rank
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobRecord, specification, token, state, reason, plan, members)

}  // namespace l3dml::control
