#include "tools/lab/report.h"

#include <algorithm>
#include <fstream>

#include <sys/utsname.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tools/lab/build_info.h"

namespace l3dml::lab {
namespace {

nlohmann::ordered_json machine() {
  utsname name{};
  uname(&name);
  std::string cpu = "unknown";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) {
      cpu = line.substr(std::min(line.find(':') + 2, line.size()));
      break;
    }
  return {{"cpu", cpu},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)},
          {"kernel", name.release}};
}

}  // namespace

void Report::add(std::string name, std::variant<double, std::string> value, std::string unit,
                 std::map<std::string, std::string> group, std::optional<std::pair<double, double>> spread) {
  rows.push_back({std::move(name), std::move(value), std::move(unit), std::move(group), spread});
}

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::ordered_json out{{"program", report.program}, {"version", kVersion},
                             {"commit", kCommit},         {"machine", machine()},
                             {"command", report.command}, {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : report.rows) {
    nlohmann::ordered_json r;
    r["name"] = row.name;
    std::visit([&](const auto& value) { r["value"] = value; }, row.value);
    r["unit"] = row.unit;
    r["group"] = row.group;
    if (row.spread) r["spread"] = {row.spread->first, row.spread->second};
    out["rows"].push_back(std::move(r));
  }
  return out;
}

absl::Status write_json(const Report& report, const std::string& file) {
  std::ofstream out(file);
  out << to_json(report).dump(1) << "\n";
  out.flush();
  return out ? absl::OkStatus() : absl::PermissionDeniedError(absl::StrCat("cannot write ", file));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 != 0) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle))) / 2;
}

}  // namespace l3dml::lab
