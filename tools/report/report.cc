#include "tools/report/report.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <thread>

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "tools/report/version.h"

namespace l3dml::report {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

nlohmann::ordered_json machine() {
  utsname system{};
  uname(&system);
  struct sysinfo memory {};
  sysinfo(&memory);
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_bytes", static_cast<uint64_t>(memory.totalram) * memory.mem_unit},
          {"kernel", system.release},
          {"architecture", system.machine}};
}

}  // namespace

nlohmann::ordered_json to_json(const Report& report) {
  auto rows = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    nlohmann::ordered_json r{{"name", row.name}};
    std::visit([&](const auto& value) { r["value"] = value; }, row.value);
    r["unit"] = row.unit;
    r["group"] = nlohmann::json(row.group).is_null() ? nlohmann::json::object() : nlohmann::json(row.group);
    if (row.target) r["target"] = *row.target;
    if (row.spread) r["spread"] = {row.spread->first, row.spread->second};
    rows.push_back(std::move(r));
  }
  return {{"program", report.program}, {"version", kVersion},       {"commit", kCommit},
          {"machine", machine()},      {"command", report.command}, {"rows", std::move(rows)}};
}

absl::Status write_json(const Report& report, const std::string& path) {
  const std::string text = to_json(report).dump(2) + "\n";
  if (path == "-") {
    std::cout << text << std::flush;
    return absl::OkStatus();
  }
  std::ofstream file(path);
  file << text;
  file.flush();
  if (!file)
    return absl::UnavailableError("cannot write " + path + ": choose a file in a folder that exists");
  return absl::OkStatus();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::optional<std::pair<double, double>> spread_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return std::pair(*least, *most);
}

std::string command_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i ? " " : "") + std::string(argv[i]);
  return line;
}

}  // namespace l3dml::report
