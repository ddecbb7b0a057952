// The network of a lab, up and programmed: namespaces, the switch process, its devices' tables.
// Everything is taken down by the destructor, in the opposite order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/jobs/plan.h"
#include "control/target/switch_target.h"
#include "nlohmann/json.hpp"
#include "tools/lab/leftovers.h"
#include "tools/lab/scenario.h"
#include "tools/lab/switch_process.h"

namespace l3dml::lab {

// The plan of the scenario's job: its roots, or the best form where it names none.
absl::StatusOr<control::JobPlan> plan_of(const Scenario& scenario,
                                         std::vector<control::DeviceResources>* devices);

struct SegmentRepairs {
  std::string from, to;  // names of sites and workers
  uint64_t packets = 0;
};

class Network {
 public:
  // Files go to FOLDER. With the l3dml backend the job is planned and installed, and FOLDER/job/rankN.json
  // written.
  static absl::StatusOr<std::unique_ptr<Network>> up(const Scenario& scenario, const std::string& folder);

  Record& record() { return *record_; }
  SwitchProcess& the_switch() { return *switch_; }
  const std::optional<control::JobPlan>& plan() const { return plan_; }
  // Every worker answers a ping from the first one, in both protocols.
  absl::Status check_reachable() const;
  absl::StatusOr<nlohmann::json> stats() const { return switch_->ask({{"op", "stats"}}); }
  // Packets that the switches sent again, by segment of the job.
  absl::StatusOr<std::vector<SegmentRepairs>> repairs() const;

 private:
  explicit Network(const Scenario& scenario) : scenario_(scenario) {}
  absl::Status build(const std::string& folder);
  absl::Status connect();
  absl::Status program();

  const Scenario& scenario_;
  std::unique_ptr<Record> record_;
  std::optional<SwitchProcess> switch_;
  std::vector<std::unique_ptr<control::target::SwitchTarget>> devices_;  // by site
  std::optional<control::JobPlan> plan_;
};

}  // namespace l3dml::lab
