#include "tools/lab/workers.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/lab/build_info.h"
#include "tools/lab/namespaces.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

constexpr int kMasterPort = 29500;

std::string read_file(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> command_of(const Scenario& scenario, const std::string& folder) {
  if (!scenario.workload.command.empty()) return scenario.workload.command;
  std::vector<std::string> command{"/usr/bin/python3",
                                   absl::StrCat(kSourceRoot, "/tools/train/train.py"),
                                   "--backend",
                                   name(scenario.backend),
                                   "--out",
                                   folder};
  for (const auto& [key, value] : scenario.workload.options) {
    command.push_back(absl::StrCat("--", key));
    command.push_back(value);
  }
  return command;
}

std::map<std::string, std::string> environment_of(const Scenario& scenario, const std::string& folder,
                                                  size_t rank) {
  const control::Topology& topology = scenario.topology;
  std::map<std::string, std::string> env{
      {"RANK", absl::StrCat(rank)},
      {"LOCAL_RANK", "0"},
      {"WORLD_SIZE", absl::StrCat(topology.hosts().size())},
      {"MASTER_ADDR", control::text4(topology.address4(0))},
      {"MASTER_PORT", absl::StrCat(kMasterPort)},
      {"GLOO_SOCKET_IFNAME", kInterface},
      {"OMP_NUM_THREADS", "1"},
      {"L3DML_BACKEND", name(scenario.backend)},
      {"L3DML_WORKER", topology.hosts()[rank].name},
      {"L3DML_OUT", folder},
      {"PYTHONUNBUFFERED", "1"},
      {"L3DML_LIBRARY", absl::StrCat(kBuildRoot, "/tools/member/libl3dml_join.so.1")},
      {"PYTHONPATH", absl::StrCat(kBuildRoot, "/tools/torch")}};
  if (scenario.backend == Backend::l3dml) env["L3DML_FORMAT"] = scenario.job.format;
  for (const auto& [key, value] : scenario.workload.environment) env[key] = value;
  return env;
}

std::string last_words(const std::string& log) {
  std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
  return lines.empty() ? "it said nothing" : lines.back();
}

}  // namespace

Progress last_progress(const std::string& log) {
  Progress progress;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    long long done = 0, total = 0;
    int used = 0;
    const std::string text(line);
    if (std::sscanf(text.c_str(), "progress %lld/%lld %n", &done, &total, &used) >= 2 && total > 0)
      progress = {done, total, used > 0 ? text.substr(static_cast<size_t>(used)) : ""};
  }
  return progress;
}

absl::StatusOr<Workers> Workers::start(const Scenario& scenario,
                                       const std::map<std::string, std::string>& membership,
                                       const std::string& folder, Record* record) {
  Workers workers(folder, scenario.job.go_on && scenario.backend == Backend::l3dml);
  for (size_t rank = 0; rank < scenario.topology.hosts().size(); ++rank) {
    auto environment = environment_of(scenario, folder, rank);
    environment.insert(membership.begin(), membership.end());
    auto process = Process::start({.command = command_of(scenario, folder),
                                   .environment = std::move(environment),
                                   .netns = namespace_of(scenario, static_cast<control::HostId>(rank)),
                                   .output_file = absl::StrCat(folder, "/rank", rank, ".log"),
                                   .directory = ""});
    if (!process.ok()) return process.status();
    L3DML_RETURN_IF_ERROR(record->add_process(process->pid()));
    workers.processes_.push_back(*std::move(process));
    workers.names_.push_back(scenario.topology.hosts()[rank].name);
  }
  return workers;
}

std::string Workers::log(size_t rank) const {
  return read_file(absl::StrCat(folder_, "/rank", rank, ".log"));
}

absl::StatusOr<bool> Workers::poll() {
  bool all = true, any_well = false;
  absl::Status bad;
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    const auto code = processes_[rank].poll();
    all &= code.has_value();
    any_well |= code == 0;
    if (code && *code != 0 && bad.ok())
      bad = absl::InternalError(absl::StrCat("worker ", names_[rank], " (rank ", rank, ") ended with ",
                                             describe_exit(*code), ": ", last_words(log(rank)), " [", folder_,
                                             "/rank", rank, ".log]"));
  }
  if (!bad.ok() && (!go_on_ || (all && !any_well))) return bad;
  return all;
}

void Workers::stop() { processes_.clear(); }

Progress Workers::progress() const { return processes_.empty() ? Progress{} : last_progress(log(0)); }

std::vector<nlohmann::json> Workers::results() const {
  std::vector<nlohmann::json> results;
  for (size_t rank = 0; rank < names_.size(); ++rank) {
    std::ifstream in(absl::StrCat(folder_, "/rank", rank, ".json"));
    results.push_back(in ? nlohmann::json::parse(in, nullptr, false) : nlohmann::json());
    if (results.back().is_discarded()) results.back() = nullptr;
  }
  return results;
}

}  // namespace l3dml::lab
