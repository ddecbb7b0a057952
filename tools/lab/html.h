// The page of a lab run: what was run, charts, and every row of the report.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/report/page.h"
#include "tools/report/report.h"

namespace l3dml::lab {

struct RunSeries {
  std::string run;  // "l3dml", "gloo cubic"
  std::vector<double> step_times, communication_times, losses;
};

absl::Status write_html(const report::Report& report, const std::string& title,
                        const std::vector<RunSeries>& runs, const std::string& file);

}  // namespace l3dml::lab
