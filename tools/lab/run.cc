#include "tools/lab/run.h"

#include <chrono>
#include <filesystem>
#include <sstream>

#include <poll.h>

#include "absl/strings/str_cat.h"
#include "tools/lab/namespaces.h"
#include "tools/lab/network.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

using Clock = std::chrono::steady_clock;

// RetransSegs over all namespaces, since they were made.
uint64_t tcp_retransmissions(const Scenario& scenario) {
  uint64_t total = 0;
  for (size_t h = 0; h < scenario.topology.hosts().size(); ++h) {
    const auto text = run({"ip", "netns", "exec", namespace_of(scenario, static_cast<control::HostId>(h)),
                           "cat", "/proc/net/snmp"});
    if (!text.ok()) continue;
    std::istringstream lines(*text);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("Tcp:", 0) != 0) continue;
      std::istringstream words(line);
      std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
      if (names.empty()) {
        names = std::move(fields);
        continue;
      }
      for (size_t i = 0; i < names.size() && i < fields.size(); ++i)
        if (names[i] == "RetransSegs") total += std::stoull(fields[i]);
    }
  }
  return total;
}

absl::Status interrupted_status() { return absl::CancelledError("interrupted"); }

}  // namespace

std::string run_name(const Scenario& scenario) {
  return scenario.backend == Backend::l3dml ? "l3dml"
                                            : absl::StrCat(name(scenario.backend), " ", scenario.tcp);
}

absl::StatusOr<RunFigures> run_scenario(const Scenario& scenario, const std::string& folder,
                                        const RunHooks& hooks) {
  RunFigures figures;
  figures.name = run_name(scenario);
  figures.group = {{"lab", scenario.name}, {"backend", name(scenario.backend)}};
  if (scenario.backend != Backend::l3dml) figures.group["tcp"] = scenario.tcp;
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error)
    return absl::PermissionDeniedError(absl::StrCat("cannot create ", folder, ": ", error.message()));

  hooks.stage("bringing the network up");
  auto network = Network::up(scenario, folder);
  if (!network.ok()) return network.status();
  if (hooks.interrupted()) return interrupted_status();
  hooks.stage("checking that all workers reach each other");
  L3DML_RETURN_IF_ERROR((*network)->check_reachable());

  auto before = (*network)->stats();
  if (!before.ok()) return before.status();
  figures.before = *std::move(before);
  hooks.stage("");
  const auto began = Clock::now();
  auto workers = Workers::start(scenario, (*network)->membership(), folder, &(*network)->record());
  if (!workers.ok()) return workers.status();
  for (;;) {
    const auto done = workers->poll();
    if (!done.ok()) return done.status();
    hooks.progress(workers->progress());
    if (*done) break;
    if (hooks.interrupted()) return interrupted_status();
    L3DML_RETURN_IF_ERROR((*network)->check());
    ::poll(nullptr, 0, 100);
  }
  figures.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  figures.workers = workers->results();
  auto after = (*network)->stats();
  if (!after.ok()) return after.status();
  figures.after = *std::move(after);
  auto repairs = (*network)->repairs();
  if (!repairs.ok()) return repairs.status();
  figures.repairs = *repairs;
  figures.job = (*network)->job();
  figures.tcp_repairs = tcp_retransmissions(scenario);
  return figures;
}

}  // namespace l3dml::lab
