// l3dml-lab: the WAN on one machine.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <signal.h>
#include <unistd.h>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/lab/build_info.h"
#include "tools/lab/explain.h"
#include "tools/lab/leftovers.h"
#include "tools/lab/namespaces.h"
#include "tools/lab/network.h"
#include "tools/lab/run.h"
#include "tools/lab/terminal.h"
#include "tools/report/version.h"

namespace l3dml::lab {
namespace {

volatile sig_atomic_t g_interrupted = 0;

struct Options {
  std::string file, backend, tcp, roots, out, json, html;
  std::vector<std::string> settings;
  int64_t seed = -1, lanes = 0;
  bool compare = false;
};

int fail(const absl::Status& status) {
  std::cerr << "l3dml-lab: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound
             ? 2
             : 1;
}

// A lab that comes along may be named without its folder.
std::string find_file(const std::string& name) {
  const std::string bundled = absl::StrCat(kSourceRoot, "/tools/lab/labs/", name, ".yaml");
  return !std::filesystem::exists(name) && std::filesystem::exists(bundled) ? bundled : name;
}

absl::StatusOr<Scenario> load(const Options& options) {
  auto scenario = load_scenario(find_file(options.file));
  if (!scenario.ok()) return scenario;
  if (!options.backend.empty()) {
    const auto backend = parse_backend(options.backend);
    if (!backend.ok())
      return absl::InvalidArgumentError(absl::StrCat("--backend ", backend.status().message()));
    scenario->backend = *backend;
  }
  if (!options.tcp.empty()) {
    if (absl::Status s = check_tcp(options.tcp); !s.ok())
      return absl::InvalidArgumentError(absl::StrCat("--tcp: ", s.message()));
    scenario->tcp = options.tcp;
  }
  if (options.seed >= 0) scenario->seed = static_cast<uint64_t>(options.seed);
  if (options.lanes > 0) scenario->job.lanes = static_cast<uint32_t>(options.lanes);
  if (!options.roots.empty()) {
    scenario->job.roots.clear();
    for (const auto name : absl::StrSplit(options.roots, ',')) {
      const control::SiteId site = scenario->topology.find_site(std::string(name));
      if (site < 0)
        return absl::InvalidArgumentError(absl::StrCat("--roots: there is no site \"", name, "\""));
      scenario->job.roots.emplace_back(site, 1.0);
    }
  }
  for (const std::string& setting : options.settings) {
    const std::vector<std::string> parts = absl::StrSplit(setting, absl::MaxSplits('=', 1));
    if (parts.size() != 2)
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", setting, ": write KEY=VALUE, for example steps=20"));
    scenario->workload.options[parts[0]] = parts[1];
  }
  return scenario;
}

std::vector<Scenario> runs_of(const Scenario& base, bool compare) {
  if (!compare) return {base};
  std::vector<Scenario> runs{base};
  runs[0].backend = Backend::l3dml;
  for (const char* tcp : {"cubic", "bbr"})
    if (check_tcp(tcp).ok()) {
      runs.push_back(base);
      runs.back().backend = Backend::gloo;
      runs.back().tcp = tcp;
    }
  return runs;
}

int run_command(const Options& options, const std::string& command) {
  const auto base = load(options);
  if (!base.ok()) return fail(base.status());
  const std::string out = options.out.empty() ? absl::StrCat("/tmp/l3dml-lab/", base->name) : options.out;
  report::Report report{"l3dml-lab", command, {}};
  std::vector<RunSeries> series;
  for (const Scenario& scenario : runs_of(*base, options.compare)) {
    Terminal terminal(absl::StrCat(scenario.name, ", ", run_name(scenario)));
    std::string folder = run_name(scenario);
    for (char& c : folder) c = c == ' ' ? '-' : c;
    const auto figures = run_scenario(scenario, absl::StrCat(out, "/", folder),
                                      {.stage = [&](const std::string& text) { terminal.stage(text); },
                                       .progress = [&](const Progress& p) { terminal.progress(p); },
                                       .interrupted = [] { return g_interrupted != 0; }});
    if (!figures.ok()) return fail(figures.status());
    add_rows(*figures, scenario, &report);
    series.push_back(series_of(*figures));
  }
  const std::string json = options.json.empty() ? out + "/report.json" : options.json;
  const std::string html = options.html.empty() ? out + "/report.html" : options.html;
  if (absl::Status s = report::write_json(report, json); !s.ok()) return fail(s);
  if (absl::Status s = write_html(report, absl::StrCat("Lab ", base->name), series, html); !s.ok())
    return fail(s);
  std::cout << summary(report) << "report: " << json << ", " << html << "\n";
  return 0;
}

int up_command(const Options& options) {
  const auto scenario = load(options);
  if (!scenario.ok()) return fail(scenario.status());
  const std::string folder =
      options.out.empty() ? absl::StrCat("/tmp/l3dml-lab/", scenario->name, "/up") : options.out;
  std::filesystem::create_directories(folder);
  const auto network = Network::up(*scenario, folder);
  if (!network.ok()) return fail(network.status());
  if (absl::Status s = (*network)->check_reachable(); !s.ok()) return fail(s);
  for (size_t h = 0; h < scenario->topology.hosts().size(); ++h) {
    const auto id = static_cast<control::HostId>(h);
    std::cout << "ip netns exec " << namespace_of(*scenario, id) << " COMMAND   # "
              << control::text(scenario->topology.address(id)) << ", "
              << control::text4(scenario->topology.address4(id)) << "\n";
  }
  for (const auto& [key, value] : (*network)->membership())
    std::cout << "export " << key << "=" << value << "\n";
  std::cout << "controller at " << (*network)->controller().address() << ", BfRuntime at "
            << (*network)->the_switch().bfrt_address() << ", files in " << folder << "; end with Ctrl-C"
            << std::endl;
  while (g_interrupted == 0) {
    if (absl::Status s = (*network)->check(); !s.ok()) return fail(s);
    usleep(200'000);
  }
  return 0;
}

int explain_command(const Options& options) {
  const auto scenario = load(options);
  if (!scenario.ok()) return fail(scenario.status());
  const auto text = explain(*scenario);
  if (!text.ok()) return fail(text.status());
  std::cout << *text;
  return 0;
}

int list_command() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(absl::StrCat(kSourceRoot, "/tools/lab/labs")))
    names.push_back(item.path().stem().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) std::cout << name << "\n";
  return 0;
}

int clean_command() {
  const auto removed = clean_leftovers();
  if (!removed.ok()) return fail(removed.status());
  for (const std::string& name : *removed) std::cout << "removed what lab " << name << " left\n";
  return 0;
}

int main_of(int argc, char** argv) {
  CLI::App app{
      "The WAN on one machine: sites, links and workers from one file, trained on by real processes."};
  app.name("l3dml-lab");
  app.set_version_flag("--version", absl::StrCat("l3dml-lab ", report::kVersion, " (", report::kCommit, ")"));
  app.require_subcommand(1);
  Options options;
  const auto with_file = [&](CLI::App* sub) {
    sub->add_option("FILE", options.file, "a lab file, or the name of one that comes along (l3dml-lab list)")
        ->required();
    sub->add_option("--backend", options.backend, "l3dml, gloo or ps, instead of the file's");
    sub->add_option("--tcp", options.tcp,
                    "congestion control in the workers' namespaces, instead of the file's");
    sub->add_option("--roots", options.roots, "sites of the roots, one stripe each, comma-separated");
    sub->add_option("--lanes", options.lanes, "values per packet")
        ->check(CLI::IsMember({64, 128, 192, 256, 320}));
    sub->add_option("--seed", options.seed, "of the links' losses");
    sub->add_option("--out", options.out, "folder for logs and results (default /tmp/l3dml-lab/NAME)");
  };
  CLI::App* run = app.add_subcommand("run", "bring the lab up, run its workload, report, take it down");
  with_file(run);
  run->add_option("--set", options.settings,
                  "KEY=VALUE: an option of the training script, for example steps=20");
  run->add_option("--json", options.json, "write the figures there (default OUT/report.json)");
  run->add_option("--html", options.html, "write the page there (default OUT/report.html)");
  run->add_flag("--compare", options.compare, "run l3dml, then gloo with cubic, then gloo with bbr");
  CLI::App* up = app.add_subcommand("up", "bring the lab up and keep it until Ctrl-C");
  with_file(up);
  CLI::App* explain =
      app.add_subcommand("explain", "check a file; say what its job would get and what limits it");
  with_file(explain);
  app.add_subcommand("list", "labs that come along");
  app.add_subcommand("clean", "remove what killed labs left");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  if (app.got_subcommand("list")) return list_command();
  if (app.got_subcommand(explain)) return explain_command(options);
  if (geteuid() != 0)
    return fail(absl::PermissionDeniedError(
        "makes network namespaces and taps: run it as root (sudo l3dml-lab ...)"));
  if (app.got_subcommand("clean")) return clean_command();
  if (app.got_subcommand(up)) return up_command(options);
  std::string command;
  for (int i = 1; i < argc; ++i) absl::StrAppend(&command, i > 1 ? " " : "", argv[i]);
  return run_command(options, command);
}

}  // namespace
}  // namespace l3dml::lab

int main(int argc, char** argv) { return l3dml::lab::main_of(argc, argv); }
