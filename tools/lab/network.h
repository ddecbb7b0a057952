// The network of a lab, up and controlled: namespaces, the switch process, the controller that writes its
// devices, the job. Everything is taken down by the destructor, in the opposite order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/lab/controller_process.h"
#include "tools/lab/leftovers.h"
#include "tools/lab/scenario.h"
#include "tools/lab/switch_process.h"

namespace l3dml::lab {

struct SegmentRepairs {
  std::string from, to;  // names of sites and workers
  uint64_t packets = 0;
};

class Network {
 public:
  // Files go to FOLDER. With the l3dml backend the job is created at the controller.
  static absl::StatusOr<std::unique_ptr<Network>> up(const Scenario& scenario, const std::string& folder);

  Record& record() { return *record_; }
  const SwitchProcess& the_switch() const { return *switch_; }
  const ControllerProcess& controller() const { return *controller_; }
  absl::Status check();  // an error once the switch or the controller has ended
  // What a worker joins by: L3DML_CONTROLLER, L3DML_JOB, L3DML_TOKEN. Empty for other backends.
  std::map<std::string, std::string> membership() const;
  const control::api::Job& job() const { return created_.job(); }  // as the controller planned it
  // Every worker answers a ping from the first one, in both protocols.
  absl::Status check_reachable() const;
  absl::StatusOr<nlohmann::json> stats() const { return switch_->ask({{"op", "stats"}}); }
  // Packets that the switches sent again, by segment of the job.
  absl::StatusOr<std::vector<SegmentRepairs>> repairs() const;

 private:
  explicit Network(const Scenario& scenario) : scenario_(scenario) {}
  absl::Status build(const std::string& folder);

  const Scenario& scenario_;
  std::unique_ptr<Record> record_;
  std::optional<SwitchProcess> switch_;
  std::optional<ControllerProcess> controller_;
  control::api::CreateJobResponse created_;
};

}  // namespace l3dml::lab
