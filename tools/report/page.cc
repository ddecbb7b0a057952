#include "tools/report/page.h"

#include <fstream>

#include "absl/strings/str_cat.h"

namespace l3dml::report {
namespace {

constexpr const char* kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}
svg{width:100%;max-width:640px;display:block;margin:1em 0} svg text{font:11px system-ui,sans-serif}
svg .title{font-size:14px;font-weight:600} .grid{stroke:#ddd}
table{border-collapse:collapse;margin:1em 0} td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums} code{background:#f3f3f3;padding:.1em .3em}
)";

std::string group_text(const Row& row) {
  std::string text;
  for (const auto& [key, value] : row.group)
    absl::StrAppend(&text, text.empty() ? "" : ", ", key, " ", value);
  return text;
}

std::string value_text(const Row& row) {
  if (const auto* text = std::get_if<std::string>(&row.value)) return *text;
  return number(std::get<double>(row.value));
}

}  // namespace

absl::Status write_page(const Report& report, const std::string& title,
                        const std::vector<std::string>& charts, const std::string& file) {
  std::ofstream out(file);
  out << "<!doctype html><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>"
      << escape_html(title) << "</title><style>" << kStyle << "</style>\n<h1>" << escape_html(title)
      << "</h1>\n<p><code>" << escape_html(report.command) << "</code></p>\n";
  for (const std::string& chart : charts) out << chart;
  out << "<table><tr><th>figure<th>value<th>unit<th>of</tr>\n";
  for (const Row& row : report.rows)
    out << "<tr><td>" << escape_html(row.name) << "<td class='n'>" << escape_html(value_text(row)) << "<td>"
        << escape_html(row.unit) << "<td>" << escape_html(group_text(row)) << "</tr>\n";
  out << "</table>\n";
  out.flush();
  return out ? absl::OkStatus() : absl::PermissionDeniedError(absl::StrCat("cannot write ", file));
}

}  // namespace l3dml::report
