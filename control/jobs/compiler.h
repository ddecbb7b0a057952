// From a job's plan to what each device holds: admission, job constants, replicas, multicast.
// Pure; the result is a declarative list that is diffed against what a device has.
#pragma once

#include <vector>

#include "control/jobs/entry.h"
#include "control/jobs/plan.h"

namespace l3dml::control {

// By site. A site that has no part in the job gets nothing. `pipes`: of the devices, by site; empty: one
// each.
std::vector<DeviceEntries> compile_job(const Topology& topology, const JobPlan& plan,
                                       const std::vector<uint32_t>& pipes = {});

// Registers that an epoch zeroes before its admission is installed (break before make): neighbours whose
// `expected` and `tx_seq` start from 0, by site.
std::vector<std::vector<uint16_t>> neighbors_of(const Topology& topology, const JobPlan& plan);

// The segment from member `rank` to its aggregator, as the member is told it.
Ipv6 member_destination(const Topology& topology, const StripePlan& stripe, int rank);

}  // namespace l3dml::control
