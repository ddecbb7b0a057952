// The one shape of results that every program of this project writes (DESIGN section 15, Reports), and what a
// run of the lab puts in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace l3dml::lab {

struct Row {
  std::string name;
  std::variant<double, std::string> value;
  std::string unit;
  std::map<std::string, std::string> group;  // tells runs, ranks, links apart
  std::optional<std::pair<double, double>> spread;
};

struct Report {
  std::string program, command;
  std::vector<Row> rows;

  void add(std::string name, std::variant<double, std::string> value, std::string unit,
           std::map<std::string, std::string> group,
           std::optional<std::pair<double, double>> spread = std::nullopt);
};

nlohmann::ordered_json to_json(const Report& report);  // with version, commit and this machine
absl::Status write_json(const Report& report, const std::string& file);

double median(std::vector<double> values);  // 0 of none

}  // namespace l3dml::lab
