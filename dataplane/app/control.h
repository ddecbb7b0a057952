// What can be asked of a running switch from outside: one JSON object in, one out. README.md lists the
// requests. Threads: any. A request that is wrong gets {"ok": false, "error": "..."} and changes nothing.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "dataplane/app/switch.h"

namespace l3dml::app {

class Control {
 public:
  // `quit` is called when the switch is asked to end.
  Control(Switch& the_switch, std::function<void()> quit) : switch_(the_switch), quit_(std::move(quit)) {}

  nlohmann::json handle(const nlohmann::json& request);
  std::string handle_line(const std::string& line);  // the same on text, without line end

 private:
  absl::Status change_link(const nlohmann::json& request);
  absl::Status change_port(const nlohmann::json& request);
  absl::Status capture(const nlohmann::json& request);
  absl::Status trace(const nlohmann::json& request);

  Switch& switch_;
  std::function<void()> quit_;
};

}  // namespace l3dml::app
