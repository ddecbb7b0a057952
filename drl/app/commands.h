// The commands of l3dml-route; progress goes to standard error, results to standard output or files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "drl/agent/train.h"

namespace l3dml::drl {

struct TrainCommand {
  TrainCommand();
  TrainOptions options;
  std::string name = "general";
  std::string sites = "6-14";
  int validation_cases = 160;
};
absl::Status run_train(TrainCommand command);

struct EvalCommand {
  bool all = false;
  std::vector<std::string> topologies, models;
  int cases = 80;
  uint64_t seed = 20260;
  std::string json, html, svg, command;
};
absl::Status run_eval(const EvalCommand& command);

struct ExplainCommand {
  std::string problem, topology = "abilene", model, html;
  uint64_t seed = 1;
  bool straggler = false;
};
absl::Status run_explain(const ExplainCommand& command);

struct ExportCommand {
  std::string from, name, out;
  int cases = 60;
};
absl::Status run_export(const ExportCommand& command);

struct SpeedCommand {
  double seconds = 5;
  std::string json, command;
};
absl::Status run_speed(const SpeedCommand& command);

}  // namespace l3dml::drl
