// Makes a switch sum for emulated workers: plans jobs with the controller's own code (control/jobs) for one
// site whose hosts are our ports, and writes them over BfRuntime. The device then holds these jobs and
// nothing else. It is a switch under test: not for one that others use.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gen/traffic.h"

namespace l3dml::gen {

struct JobShape {
  unsigned workers = 4;
  uint32_t lanes = 256;
  double share = 1;
};

struct ProgramOptions {
  std::string bfrt = "127.0.0.1:50052";
  uint32_t device_id = 0;
  std::vector<uint16_t> device_ports;  // of the switch, where our ports are attached, in the order of ours
  wire::MacAddress switch_mac{};
  uint32_t max_window = 65536;
  uint8_t epoch = 1;
};

absl::StatusOr<std::vector<JobTraffic>> program_switch(const std::vector<JobShape>& jobs,
                                                       const ProgramOptions& options);

// The workers of job files that a controller or a lab wrote, behind these ports in turn: of each job all
// ranks. Errors: a rank is missing, or ranks do not agree.
absl::StatusOr<std::vector<JobTraffic>> traffic_of(const std::vector<std::string>& job_files, size_t ports,
                                                   const wire::MacAddress& switch_mac);

}  // namespace l3dml::gen
