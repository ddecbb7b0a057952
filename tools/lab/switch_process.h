// The switch process of a lab: its configuration written from the scenario, started, asked for figures.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/lab/daemon.h"
#include "tools/lab/leftovers.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {

// The switch's YAML file: a device per site, a tap per worker opened inside its namespace, every link with
// its parameters as the lab file spells them.
std::string switch_config(const Scenario& scenario, const std::string& control_socket);

class SwitchProcess {
 public:
  // Writes FOLDER/switch.yaml, starts the switch and waits until it says that it is ready. Errors carry its
  // last words.
  static absl::StatusOr<SwitchProcess> start(const Scenario& scenario, const std::string& folder,
                                             Record* record);

  std::string bfrt_address() const;
  absl::Status check() { return daemon_.check(); }  // an error once it has ended
  // One request of dataplane/app's JSON endpoint; `ok` false becomes an error.
  absl::StatusOr<nlohmann::json> ask(const nlohmann::json& request) const;

 private:
  SwitchProcess(Daemon daemon, std::string socket) : daemon_(std::move(daemon)), socket_(std::move(socket)) {}

  Daemon daemon_;
  std::string socket_;
};

}  // namespace l3dml::lab
