// l3dml-sim: the command line. Exit 0: no violation, 1: a violation or a failed run, 2: wrong usage.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "tools/report/report.h"
#include "tools/report/version.h"
#include "tools/sim/batch.h"
#ifdef L3DML_MUTATIONS
#include "tools/sim/mutation_check.h"
#else
#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/prediction.h"
#endif

namespace l3dml::sim {
namespace {

int replay(uint64_t seed, bool wide, size_t lines, uint16_t job) {
  const Scenario scenario = generate(seed, wide);
  fmt::print("{}\n", scenario.describe());
  PacketTrace trace(lines, job);
  World world(scenario, lines ? &trace : nullptr);
  const Outcome outcome = world.run();
  trace.print(stdout);
  if (lines) fmt::print("{}", world.drops());
  fmt::print(
      "{} packets, {} chunks, {} collectives, {} epochs, {} members cut off, {:.6f} s of virtual time\n",
      outcome.packets, outcome.chunks, outcome.collectives, outcome.epochs, outcome.failed_members,
      static_cast<double>(outcome.virtual_ns) * 1e-9);
  if (!outcome.violation) return 0;
  fmt::print("violation {}: {}\n", outcome.violation->name, outcome.violation->text);
  return 1;
}

// A line on stderr every few seconds, for runs that take a night.
class Progress {
 public:
  explicit Progress(uint64_t of) : of_(of) {}
  void show(uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(10);
    const double elapsed_s = std::chrono::duration<double>(now - start_).count();
    const double left_s = elapsed_s * static_cast<double>(of_ - done) / static_cast<double>(done);
    fmt::print(stderr, "{} of {} scenarios, {:.0f} s, about {:.0f} s to go\n", done, of_, elapsed_s, left_s);
  }

 private:
  const uint64_t of_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_ = start_ + std::chrono::seconds(10);
};

int batch(const BatchOptions& options, bool cover, const std::string& program, const std::string& json,
          const std::string& command) {
  BatchOptions reporting = options;
  reporting.on_violation = [&](uint64_t seed, const Violation& violation) {
    fmt::print("seed {}: violation {}: {}\n  replay: {}{} --seed {} --trace 200\n", seed, violation.name,
               violation.text, program, options.wide ? " --wide" : "", seed);
    std::fflush(stdout);
  };
  Progress progress(options.runs);
  reporting.on_progress = [&](uint64_t scenarios) { progress.show(scenarios); };
  const BatchResult result = run_batch(reporting);
  const double rate = result.cpu_s > 0 ? static_cast<double>(result.events) / result.cpu_s : 0;
  fmt::print(
      "{} scenarios, {} violations; {} packets, {} chunks ({} repeated), {} sent again, {} epochs; {:.0f} "
      "events/s of one core\n",
      result.scenarios, result.violations.size(), result.packets, result.chunks, result.repeats,
      result.retransmitted, result.epochs, rate);
  fmt::print("{}", result.coverage.format());
  const std::vector<std::string> missing = result.coverage.missing();
  if (cover && !missing.empty()) fmt::print("the scenarios lack: {}\n", fmt::join(missing, ", "));
  if (!json.empty()) {
    std::vector<report::Row> rows = {
        {"scenarios", static_cast<double>(result.scenarios), "1"},
        {"violations", static_cast<double>(result.violations.size()), "1", {}, 0.0},
        {"events_per_second", rate, "1/s", {}, 500000.0}};
    for (const Coverage::Count& count : result.coverage.counts())
      rows.push_back(
          {"scenarios_with", static_cast<double>(count.scenarios), "1", {{"property", count.property}}});
    if (const absl::Status status = report::write_json({"l3dml-sim", command, rows}, json); !status.ok()) {
      fmt::print(stderr, "l3dml-sim: {}\n", std::string(status.message()));
      return 1;
    }
  }
  return result.violations.empty() && (!cover || missing.empty()) ? 0 : 1;
}

#ifdef L3DML_MUTATIONS
int mutations(const BatchOptions& batch, const std::string& only, uint64_t most, const std::string& json,
              const std::string& command) {
  const MutationOptions options{batch.first_seed, most, batch.threads, only};
  const std::vector<MutationResult> results = check_mutations(options, [](const MutationResult& r) {
    const std::string how = r.found ? fmt::format("{} (seed {})", r.violation, r.seed) : "NOT FOUND";
    fmt::print("{:5} scenarios {:6.1f} s  {:36} {:44} {}\n", r.scenarios, r.cpu_s, r.name, how, r.text);
    std::fflush(stdout);
  });
  if (results.empty()) {
    fmt::print(stderr, "l3dml-sim: no fault is called {}; tools/sim/mutations.h lists them\n", only);
    return 2;
  }
  size_t found = 0;
  std::vector<report::Row> rows;
  for (const MutationResult& r : results) {
    found += r.found;
    rows.push_back({"scenarios_to_find", static_cast<double>(r.scenarios), "1", {{"mutation", r.name}}});
  }
  fmt::print("{} faults planted, {} found\n", results.size(), found);
  const auto planted = static_cast<double>(results.size());
  rows.insert(rows.begin(), {{"mutations_planted", planted, "1"},
                             {"mutations_found", static_cast<double>(found), "1", {}, planted}});
  if (!json.empty()) {
    if (const absl::Status status = report::write_json({"l3dml-sim", command, rows}, json); !status.ok()) {
      fmt::print(stderr, "l3dml-sim: {}\n", std::string(status.message()));
      return 1;
    }
  }
  return found == results.size() ? 0 : 1;
}
#else
int print_and_report(const absl::StatusOr<Rows>& rows, const std::string& json, const std::string& svg,
                     const std::string& command) {
  if (!rows.ok()) {
    fmt::print(stderr, "l3dml-sim: {}\n", std::string(rows.status().message()));
    return 2;
  }
  for (const report::Row& row : *rows) {
    if (row.group.contains("seed")) continue;  // single cases are in the report
    std::string group;
    for (const auto& [key, value] : row.group) group += fmt::format(" {}={}", key, value);
    const auto* value = std::get_if<double>(&row.value);
    fmt::print("{:28} {:>14} {:6}{}{}\n", row.name,
               value ? fmt::format("{:.6g}", *value) : std::get<std::string>(row.value), row.unit,
               row.target ? fmt::format(" (target {:.4g})", *row.target) : "", group);
  }
  if (!svg.empty()) std::ofstream(svg) << loss_cost_chart(*rows);
  if (json.empty()) return 0;
  const absl::Status status = report::write_json({"l3dml-sim", command, *rows}, json);
  if (!status.ok()) fmt::print(stderr, "l3dml-sim: {}\n", std::string(status.message()));
  return status.ok() ? 0 : 1;
}

// The faults are compiled into a program of their own, beside this one.
int run_beside(char** argv) {
  const std::filesystem::path other =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "l3dml-sim-mutations";
  execv(other.c_str(), argv);
  fmt::print(stderr, "l3dml-sim: {} does not run ({}); build it: tools/build tools/l3dml-sim-mutations\n",
             other.string(), std::strerror(errno));
  return 1;
}
#endif

}  // namespace
}  // namespace l3dml::sim

int main(int argc, char** argv) {
  using namespace l3dml::sim;
  CLI::App app{
      "Runs the switch pipeline, the worker core and the epoch coordinator under a virtual clock and checks "
      "them after every event."};
  app.set_version_flag("--version",
                       fmt::format("l3dml-sim {} ({})", l3dml::report::kVersion, l3dml::report::kCommit));
  BatchOptions options;
  uint64_t seed = 0;
  size_t trace = 0;
  uint16_t trace_job = 0;
  std::string json;
  app.fallthrough();
  app.add_subcommand("run", "random scenarios (the default)");
  std::string what;
  auto* measuring = app.add_subcommand("measure", "figures of networks written by hand, in virtual time");
  measuring->add_option("mode", what, "goodput, loss_cost, fairness, scale or all")->required();
#ifndef L3DML_MUTATIONS
  PredictionOptions prediction;
  auto* predicting = app.add_subcommand(
      "prediction", "what the routing policies' model says an iteration takes beside what it takes here");
  predicting->add_option("--cases", prediction.cases, "random networks, jobs and plans")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  predicting->add_option("--svg", prediction.svg, "write the scatter to this file");
#endif
  app.add_option("--runs", options.runs, "random scenarios to run")->capture_default_str();
  app.add_option("--from", options.first_seed, "seed of the first one")->capture_default_str();
  app.add_option("--threads", options.threads, "scenarios at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_flag("--wide", options.wide, "a wider space: residuals, discord, silent members, late packets");
  app.add_flag("--keep-going", options.keep_going, "do not stop at the first violation");
  std::string svg;
  measuring->add_option("--svg", svg, "write the distribution of what losses cost to this file");
  app.add_flag("--verbose", options.verbose, "a line per scenario");
  bool cover = false;
  app.add_flag("--cover", cover, "fail if the scenarios together lack a property of the scenario space");
  const auto* one = app.add_option("--seed", seed, "run this one scenario");
  app.add_option("--trace", trace, "with --seed: print the last so many packets and events");
  app.add_option("--trace-job", trace_job, "with --trace: only packets of this job");
  bool mutate = false;
  std::string mutation;
  uint64_t most = 200;
  app.add_flag("--mutations", mutate,
               "plant each deliberate fault and count the scenarios it takes to find it");
  app.add_option("--mutation", mutation, "with --mutations: only the fault of this name");
  app.add_option("--most", most, "with --mutations: scenarios until a fault counts as not found")
      ->capture_default_str();
  app.add_option("--json", json, "write a report to this file, - for stdout");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string command = l3dml::report::command_line(argc, argv);
#ifdef L3DML_MUTATIONS
  if (mutate) return mutations(options, mutation, most, json, command);
#else
  if (measuring->parsed()) return print_and_report(measure(what), json, svg, command);
  if (predicting->parsed()) {
    prediction.threads = options.threads;
    prediction.verbose = options.verbose;
    prediction.first_seed = options.first_seed;
    return print_and_report(measure_prediction(prediction), json, "", command);
  }
  if (mutate) return run_beside(argv);
#endif
  return one->count() ? replay(seed, options.wide, trace, trace_job)
                      : batch(options, cover, argv[0], json, command);
}
