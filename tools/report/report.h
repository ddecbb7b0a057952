// The one shape in which every program of this project writes its figures with --json, so that any script can
// read any of them: {"program", "version", "commit", "machine", "command", "rows": [{name, value, unit,
// group, target, spread}]}.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace l3dml::report {

struct Row {
  std::string name;
  std::variant<double, std::string> value;
  std::string unit;                               // SI: s, bit/s, B; "1" for ratios and counts
  std::map<std::string, std::string> group = {};  // tells runs apart: backend, rank, link, ...
  std::optional<double> target = std::nullopt;    // what the project wants to reach
  std::optional<std::pair<double, double>> spread = std::nullopt;  // smallest, largest
};

struct Report {
  std::string program;
  std::string command;
  std::vector<Row> rows;

  void add(Row row) { rows.push_back(std::move(row)); }
};

// With version, commit and this machine (CPU, cores, memory, kernel).
nlohmann::ordered_json to_json(const Report& report);
// To a file, or to standard output if `path` is "-".
absl::Status write_json(const Report& report, const std::string& path);

double median(std::vector<double> values);                                              // 0 of none
std::optional<std::pair<double, double>> spread_of(const std::vector<double>& values);  // nothing of none

// argv as one line, for Report::command.
std::string command_line(int argc, char** argv);

}  // namespace l3dml::report
