#include "tools/lab/html.h"

namespace l3dml::lab {
namespace {

using report::Series;

std::vector<Series> pick(const std::vector<RunSeries>& runs, std::vector<double> RunSeries::*values) {
  std::vector<Series> series;
  for (const RunSeries& run : runs)
    if (!(run.*values).empty()) series.push_back({run.run, run.*values});
  return series;
}

std::string medians(const std::vector<RunSeries>& runs) {
  std::vector<std::pair<std::string, double>> bars;
  for (const RunSeries& run : runs)
    if (!run.communication_times.empty()) bars.emplace_back(run.run, report::median(run.communication_times));
  return bars.empty() ? "" : report::bar_chart("Communication time per step, median", "s", bars);
}

}  // namespace

absl::Status write_html(const report::Report& report, const std::string& title,
                        const std::vector<RunSeries>& runs, const std::string& file) {
  std::vector<std::string> charts = {medians(runs)};
  const std::pair<const char*, std::vector<Series>> by_step[] = {
      {"Communication time", pick(runs, &RunSeries::communication_times)},
      {"Step time", pick(runs, &RunSeries::step_times)}};
  for (const auto& [name, series] : by_step)
    if (!series.empty()) charts.push_back(report::line_chart(name, "step", "s", series));
  if (const auto losses = pick(runs, &RunSeries::losses); !losses.empty())
    charts.push_back(report::line_chart("Training loss", "step", "", losses));
  return report::write_page(report, title, charts, file);
}

}  // namespace l3dml::lab
