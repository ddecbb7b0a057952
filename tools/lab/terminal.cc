#include "tools/lab/terminal.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/chart.h"

namespace l3dml::lab {
namespace {

constexpr int kBar = 30;

std::string run_of(const report::Row& row) {
  const auto find = [&](const char* key) {
    const auto it = row.group.find(key);
    return it == row.group.end() ? std::string() : it->second;
  };
  const std::string tcp = find("tcp");
  return absl::StrCat(find("backend"), tcp.empty() ? "" : " ", tcp);
}

std::string shown(const report::Row& row) {
  if (const auto* text = std::get_if<std::string>(&row.value)) return text->substr(0, 12);
  const double v = std::get<double>(row.value);
  if (row.unit == "bit/s") return absl::StrFormat("%.1f Mb/s", v / 1e6);
  if (row.unit == "byte") return absl::StrFormat("%.1f MB", v / 1e6);
  return absl::StrCat(report::number(v), row.unit.empty() || row.unit == "packet" ? "" : " ",
                      row.unit == "packet" ? "" : row.unit);
}

}  // namespace

Terminal::Terminal(std::string title)
    : title_(std::move(title)), tty_(isatty(STDERR_FILENO) == 1), began_(std::chrono::steady_clock::now()) {}

Terminal::~Terminal() {
  if (open_) std::fputc('\n', stderr);
}

void Terminal::line(const std::string& text) {
  if (tty_) {
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    open_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

void Terminal::stage(const std::string& text) {
  if (!text.empty()) line(absl::StrCat(title_, ": ", text));
}

void Terminal::progress(const Progress& progress) {
  if (progress.total == 0 || (progress == last_)) return;
  const bool tenth =
      progress.done * 10 / progress.total != last_.done * 10 / std::max<int64_t>(1, last_.total);
  last_ = progress;
  if (!tty_ && !tenth && progress.done != progress.total) return;
  const int filled = static_cast<int>(kBar * progress.done / progress.total);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  line(absl::StrFormat("%s [%s%s] %d/%d  %s  %.0f s", title_, std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(kBar - filled), '.'), progress.done, progress.total,
                       progress.note, seconds));
}

std::string summary(const report::Report& report) {
  constexpr const char* kNames[] = {"step_time",        "communication_time", "goodput",
                                    "wan_bytes",        "lost_packets",       "queue_drops",
                                    "repaired_packets", "accuracy",           "weights_sha256"};
  std::vector<std::string> runs;
  for (const report::Row& row : report.rows)
    if (std::find(runs.begin(), runs.end(), run_of(row)) == runs.end()) runs.push_back(run_of(row));
  std::string out = absl::StrFormat("%-20s", "");
  for (const std::string& run : runs) absl::StrAppendFormat(&out, " %16s", run);
  out += "\n";
  for (const char* name : kNames) {
    std::string cells;
    bool any = false;
    for (const std::string& run : runs) {
      const auto row = std::find_if(report.rows.begin(), report.rows.end(), [&](const report::Row& r) {
        return r.name == name && run_of(r) == run && !r.group.contains("link");
      });
      any |= row != report.rows.end();
      absl::StrAppendFormat(&cells, " %16s", row == report.rows.end() ? "" : shown(*row));
    }
    if (any) absl::StrAppendFormat(&out, "%-20s%s\n", name, cells);
  }
  return out;
}

}  // namespace l3dml::lab
