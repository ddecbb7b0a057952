// Rows that need namespaces, several processes and gloo: bench/network/network.py makes them, here they
// become part of the one table.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "bench/macro/compare.h"

namespace l3dml::bench {

std::vector<report::Row> network_rows(const Options& options, const std::string& section) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("l3dml-bench-" + std::to_string(getpid()) + ".json");
  const std::string command = "exec /usr/bin/python3 " L3DML_NETWORK_SCRIPT " " L3DML_BUILD_ROOT " --only " +
                              section + " --rounds " + std::to_string(options.network_rounds) +
                              (options.quick ? " --quick" : "") + " --json " + file;
  const int status = std::system(command.c_str());
  std::ifstream in(file);
  const auto rows = nlohmann::json::parse(in, nullptr, false);
  std::filesystem::remove(file);
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !rows.is_array())
    throw std::runtime_error("no figures; see above");
  std::vector<report::Row> result;
  for (const auto& row : rows) {
    report::Row r{row["name"], row["value"].get<double>(), row["unit"], {}, row["target"].get<double>()};
    for (const auto& [key, value] : row["group"].items()) r.group[key] = value.get<std::string>();
    r.spread = std::pair(row["spread"][0].get<double>(), row["spread"][1].get<double>());
    result.push_back(std::move(r));
  }
  return result;
}

}  // namespace l3dml::bench
