// A program of ours that runs as long as the lab does and says in one line of JSON when it is ready: the
// switch, the controller. Its output is a log file; errors carry its last words.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/lab/leftovers.h"
#include "tools/lab/process.h"

namespace l3dml::lab {

class Daemon {
 public:
  // `what` names it in messages: "the switch". Returns once it is ready.
  static absl::StatusOr<Daemon> start(const std::string& what, const std::vector<std::string>& command,
                                      const std::string& log, Record* record);

  const nlohmann::json& said() const { return said_; }  // the line that it was ready with
  // An error once it has ended, with its last words.
  absl::Status check();
  void stop() { process_.stop(); }

 private:
  Daemon(std::string what, Process process, std::string log)
      : what_(std::move(what)), process_(std::move(process)), log_(std::move(log)) {}
  absl::Status wait_ready();
  std::string last_words() const;

  std::string what_;
  Process process_;
  std::string log_;
  nlohmann::json said_;
};

}  // namespace l3dml::lab
