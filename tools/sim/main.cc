// l3dml-sim: the command line. Exit 0: no violation, 1: a violation or a failed run, 2: wrong usage.
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/version.h"
#include "tools/sim/batch.h"

namespace l3dml::sim {
namespace {

int replay(uint64_t seed, size_t lines, uint16_t job) {
  const Scenario scenario = generate(seed);
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

int batch(const BatchOptions& options, const std::string& program, const std::string& json,
          const std::string& command) {
  BatchOptions reporting = options;
  reporting.on_violation = [&](uint64_t seed, const Violation& violation) {
    fmt::print("seed {}: violation {}: {}\n  replay: {} --seed {} --trace 200\n", seed, violation.name,
               violation.text, program, seed);
    std::fflush(stdout);
  };
  const BatchResult result = run_batch(reporting);
  const double rate = result.cpu_s > 0 ? static_cast<double>(result.events) / result.cpu_s : 0;
  fmt::print(
      "{} scenarios, {} violations; {} packets, {} chunks ({} repeated), {} sent again, {} epochs; {:.0f} "
      "events/s of one core\n",
      result.scenarios, result.violations.size(), result.packets, result.chunks, result.repeats,
      result.retransmitted, result.epochs, rate);
  if (!json.empty()) {
    const absl::Status status =
        report::write_json({"l3dml-sim",
                            command,
                            {{"scenarios", static_cast<double>(result.scenarios), "1"},
                             {"violations", static_cast<double>(result.violations.size()), "1", {}, 0.0},
                             {"events_per_second", rate, "1/s", {}, 500000.0}}},
                           json);
    if (!status.ok()) {
      fmt::print(stderr, "l3dml-sim: {}\n", std::string(status.message()));
      return 1;
    }
  }
  return result.violations.empty() ? 0 : 1;
}

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
  app.add_option("--runs", options.runs, "random scenarios to run")->capture_default_str();
  app.add_option("--from", options.first_seed, "seed of the first one")->capture_default_str();
  app.add_option("--threads", options.threads, "scenarios at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_flag("--keep-going", options.keep_going, "do not stop at the first violation");
  app.add_flag("--verbose", options.verbose, "a line per scenario");
  const auto* one = app.add_option("--seed", seed, "run this one scenario");
  app.add_option("--trace", trace, "with --seed: print the last so many packets and events");
  app.add_option("--trace-job", trace_job, "with --trace: only packets of this job");
  app.add_option("--json", json, "write a report to this file, - for stdout");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string command = l3dml::report::command_line(argc, argv);
  return one->count() ? replay(seed, trace, trace_job) : batch(options, argv[0], json, command);
}
