// What a member is told about its job, as the JSON that tools/host/job_config.h reads.
#pragma once

#include <string>

#include "control/jobs/plan.h"

namespace l3dml::control {

std::string member_config(const Topology& topology, const JobPlan& plan, int rank, double timeout_s = 60,
                          uint32_t mtu = 1500);

}  // namespace l3dml::control
