// The command line of l3dml-switch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/app/config.h"

namespace l3dml::app {

struct Options {
  SwitchConfig config;
  bool check = false;        // read the configuration and end
  bool json = false;         // say what is ready, and the figures at the end, as JSON
  bool schema_only = false;  // BfRuntime without a pipeline
  std::string ask;           // a request to a running switch
  std::string budget;        // print what the program asks of this chip, and end
  bool own_sizes = false;    // no configuration was given: the program as it is written
};

// Options, or the exit code when there is nothing more to do (--help: 0, wrong usage: 2).
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
Parsed parse_options(int argc, char** argv);

}  // namespace l3dml::app
