// The stored form of topology and jobs. Fields that an older controller did not write have their defaults.
#pragma once

#include <nlohmann/json.hpp>

#include "control/api/views.h"

namespace l3dml::control {

NLOHMANN_JSON_SERIALIZE_ENUM(OnLoss, {{OnLoss::end, "end"}, {OnLoss::go_on, "go_on"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Capability, name, pipes, slots, lanes, lanes_per_pass, neighbors,
                                   seq_entries, jobs, groups)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SiteRecord, name, address, device_id, router, drained,
                                                removed, speed, fec)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HostRecord, name, site, rate_bps, delay_s, port, removed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LinkRecord, name, a, b, rate_bps, delay_s, loss, port_a,
                                                port_b, down, removed, rate_now_bps, delay_now_s, loss_now)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JobSpecification, name, hosts, roots, stripes, lanes, lease_s,
                                                on_loss, timeout_s, mtu, inner)

struct MemberRecord {
  bool joined = false, left = false, lost = false;
  bool starting = false;  // came to a running job, and has not begun on all stripes
  std::string instance;
  std::string why;  // it was lost
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(MemberRecord, joined, left, lost, starting, instance, why)

struct JobRecord {
  JobSpecification specification;
  std::string token, state, reason, plan;  // plan: plan_json.h; empty once ended
  std::vector<MemberRecord> members;       // by rank
  bool attended = false;                   // members take part in epoch changes
  std::vector<std::string> next;           // by stripe: the plan being installed, "" if none
  std::vector<std::string> groups;    // that have joined, one after the other; the last is the running one
  bool by_loss = false;               // it ended since somebody was lost: another group may begin it anew
  std::string form_source, form_why;  // who chose its stripes
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JobRecord, specification, token, state, reason, plan, members,
                                                attended, next, groups, by_loss, form_source, form_why)

}  // namespace l3dml::control
