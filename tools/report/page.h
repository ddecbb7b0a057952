// The page of a report: what was run, charts, and every row.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/report/chart.h"
#include "tools/report/report.h"

namespace l3dml::report {

// `charts`: finished SVG, in order.
absl::Status write_page(const Report& report, const std::string& title,
                        const std::vector<std::string>& charts, const std::string& file);

}  // namespace l3dml::report
