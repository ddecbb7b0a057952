// What the controller keeps of a device and of a job beside what is stored. Private to controller*.cc.
#pragma once

#include "control/api/controller.h"
#include "control/api/records.h"

namespace l3dml::control {

struct Controller::Device {
  std::unique_ptr<target::SwitchTarget> target;  // null: not reached
  std::string problem;
  bool known = false;  // its capability is that of resources_
  bool stale = true;   // what it holds may not be what it shall
  int64_t next_try_ns = 0;
  int64_t pause_ns = 0;
};

struct Controller::Job {
  JobRecord record;
  JobPlan plan;
  std::vector<int64_t> deadlines_ns;  // by rank; of the lease
  bool live() const { return record.state != "ended"; }
};

}  // namespace l3dml::control
