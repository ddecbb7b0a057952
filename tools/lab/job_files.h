// From a job's plan to the file that each rank's host library reads.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/jobs/plan.h"
#include "tools/host/job_config.h"

namespace l3dml::lab {

struct JobFileOptions {
  double timeout_s = 60;
  uint32_t mtu = 1500;
};

host::JobConfig job_config(const control::Topology& topology, const control::JobPlan& plan, int rank,
                           const JobFileOptions& options);

// FOLDER/rankN.json for every rank.
absl::Status write_job_files(const control::Topology& topology, const control::JobPlan& plan,
                             const JobFileOptions& options, const std::string& folder);

}  // namespace l3dml::lab
