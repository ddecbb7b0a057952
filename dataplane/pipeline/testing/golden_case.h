// A golden case (dataplane/testdata/CASE): what a switch with the tables of config.json makes of in.pcap.
// Tables are named as in BfRuntime; widths and key order come from p4/bf-rt.json, so a name or a width that
// is wrong there fails here. One pipe, one thread; time is that of the capture. Errors throw std::exception.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "dataplane/pipeline/testing/pcapng.h"

namespace l3dml::pipeline::testing {

class Schema {  // of p4/bf-rt.json, as far as entries need it
 public:
  explicit Schema(const std::filesystem::path& bf_rt);
  const nlohmann::json& table(const std::string& name) const;

 private:
  std::map<std::string, nlohmann::json> tables_;
};

struct GoldenResult {
  std::vector<Captured> sent;
  nlohmann::json counters;  // counter -> name or index -> packets, zeros left out
  std::string trace;        // "PACKET BLOCK: text" a line
};

GoldenResult run_golden_case(const Schema& schema, const nlohmann::json& config,
                             const std::vector<Captured>& packets);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace l3dml::pipeline::testing
