#include "tools/lab/html.h"

#include <fstream>

#include "absl/strings/str_cat.h"

namespace l3dml::lab {
namespace {

constexpr const char* kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}
svg{width:100%;max-width:640px;display:block;margin:1em 0} svg text{font:11px system-ui,sans-serif}
svg .title{font-size:14px;font-weight:600} .grid{stroke:#ddd}
table{border-collapse:collapse;margin:1em 0} td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums} code{background:#f3f3f3;padding:.1em .3em}
)";

std::string group_text(const report::Row& row) {
  std::string text;
  for (const auto& [key, value] : row.group)
    absl::StrAppend(&text, text.empty() ? "" : ", ", key, " ", value);
  return text;
}

std::string value_text(const report::Row& row) {
  if (const auto* text = std::get_if<std::string>(&row.value)) return *text;
  return number(std::get<double>(row.value));
}

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
  return bars.empty() ? "" : bar_chart("Communication time per step, median", "s", bars);
}

}  // namespace

absl::Status write_html(const report::Report& report, const std::string& title,
                        const std::vector<RunSeries>& runs, const std::string& file) {
  std::ofstream out(file);
  out << "<!doctype html><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>"
      << escape_html(title) << "</title><style>" << kStyle << "</style>\n<h1>" << escape_html(title)
      << "</h1>\n<p><code>" << escape_html(report.command) << "</code></p>\n";
  out << medians(runs);
  const std::pair<const char*, std::vector<Series>> charts[] = {
      {"Communication time", pick(runs, &RunSeries::communication_times)},
      {"Step time", pick(runs, &RunSeries::step_times)}};
  for (const auto& [name, series] : charts)
    if (!series.empty()) out << line_chart(name, "step", "s", series);
  if (const auto losses = pick(runs, &RunSeries::losses); !losses.empty())
    out << line_chart("Training loss", "step", "", losses);
  out << "<table><tr><th>figure<th>value<th>unit<th>of</tr>\n";
  for (const report::Row& row : report.rows)
    out << "<tr><td>" << escape_html(row.name) << "<td class='n'>" << escape_html(value_text(row)) << "<td>"
        << escape_html(row.unit) << "<td>" << escape_html(group_text(row)) << "</tr>\n";
  out << "</table>\n";
  out.flush();
  return out ? absl::OkStatus() : absl::PermissionDeniedError(absl::StrCat("cannot write ", file));
}

}  // namespace l3dml::lab
