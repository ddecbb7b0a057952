// The controller of a lab: its file derived from the scenario, started, and asked over l3dml.v1, as l3dmlctl
// does. Workers reach it by a unix socket, which no network namespace hides.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/app/client.h"
#include "tools/lab/daemon.h"
#include "tools/lab/leftovers.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {

// The controller's YAML file: the scenario's sites, workers and links under the very ports and figures that
// the switch was told.
std::string controller_config(const Scenario& scenario, const std::string& bfrt_address,
                              const std::string& folder);

// The scenario's job as its owner asks for it.
control::api::CreateJobRequest job_request(const Scenario& scenario);

class ControllerProcess {
 public:
  // Writes FOLDER/controller.yaml, starts the controller with an empty store, and waits until every switch
  // holds its routes.
  static absl::StatusOr<ControllerProcess> start(const Scenario& scenario, const std::string& bfrt_address,
                                                 const std::string& folder, Record* record);

  const std::string& address() const { return address_; }
  absl::Status check() { return daemon_.check(); }  // an error once it has ended
  absl::StatusOr<control::api::CreateJobResponse> create_job(const Scenario& scenario) const;
  absl::StatusOr<control::api::Statistics> statistics() const;

 private:
  ControllerProcess(Daemon daemon, std::string address, std::unique_ptr<control::Client> client)
      : daemon_(std::move(daemon)), address_(std::move(address)), client_(std::move(client)) {}
  absl::Status wait_for_switches() const;

  Daemon daemon_;
  std::string address_;
  std::unique_ptr<control::Client> client_;
};

}  // namespace l3dml::lab
