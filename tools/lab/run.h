// One run of a scenario, from nothing to figures: network up, workers, figures, network down.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/lab/html.h"
#include "tools/lab/network.h"
#include "tools/lab/scenario.h"
#include "tools/lab/workers.h"
#include "tools/report/report.h"

namespace l3dml::lab {

struct RunFigures {
  std::string name;  // "l3dml", "gloo cubic"
  std::map<std::string, std::string> group;
  std::vector<nlohmann::json> workers;  // by rank, as they wrote it
  nlohmann::json before, after;         // the switch's statistics around the workload
  std::vector<SegmentRepairs> repairs;  // of switches
  control::api::Job job;                // as the controller planned it; empty for other backends
  uint64_t tcp_repairs = 0;             // segments that the workers' TCP sent again
  double seconds = 0;                   // of the workload
};

struct RunHooks {
  std::function<void(const std::string&)> stage;  // "starting the switch", ...
  std::function<void(const Progress&)> progress;  // about four times a second
  std::function<bool()> interrupted;
};

absl::StatusOr<RunFigures> run_scenario(const Scenario& scenario, const std::string& folder,
                                        const RunHooks& hooks);

std::string run_name(const Scenario& scenario);
void add_rows(const RunFigures& figures, const Scenario& scenario, report::Report* report);
RunSeries series_of(const RunFigures& figures);

}  // namespace l3dml::lab
