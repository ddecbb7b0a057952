// What a member is told: the JSON that the host library reads (tools/host/job_config.h), whole at the start
// and one stripe's part when an epoch begins.
#pragma once

#include <string>

#include "control/jobs/plan.h"

namespace l3dml::control {

std::string member_config(const Topology& topology, const JobPlan& plan, int rank, double timeout_s = 60,
                          uint32_t mtu = 1500);
std::string stripe_config(const Topology& topology, const JobPlan& plan, const StripePlan& stripe, int rank,
                          uint32_t mtu);

}  // namespace l3dml::control
