#include "dataplane/app/options.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "dataplane/app/build_info.h"

namespace l3dml::app {
namespace {

constexpr const char* kAbout =
    "The L3DML software switch: one or more devices that run the program of p4/, their ports, and emulated "
    "links.";
constexpr const char* kFooter =
    "Examples:\n"
    "  l3dml-switch lab.yaml                     devices, ports and links from a file "
    "(dataplane/app/README.md)\n"
    "  l3dml-switch -i 0@veth0 -i 1@veth2        one device on kernel interfaces\n"
    "  l3dml-switch --budget tofino1 lab.yaml    would its devices fit the chip? stage by stage\n"
    "  l3dml-switch --ask '{\"op\": \"stats\"}'      figures of a running switch\n"
    "What follows -- goes to DPDK's EAL, e.g. -- -l 0-3 -a 0000:01:00.0";

struct Raw {
  std::string config, port_file, log_level, bfrt, status, control, schema, program, ask, budget;
  std::vector<std::string> interfaces, eal;
  unsigned workers = 0, pipes = 0;
  bool poll = false, check = false, json = false, schema_only = false;
};

absl::StatusOr<Options> combine(const Raw& raw) {
  Options options;
  if (!raw.config.empty()) {
    auto config = load_config(raw.config);
    if (!config.ok()) return config.status();
    options.config = *std::move(config);
  } else {
    options.config.devices.push_back({.name = "device0", .id = 0, .device = {}, .ports = {}});
    options.config.devices[0].device.mac = {0x02, 0x13, 0xd3, 0, 0, 0};
  }
  SwitchConfig& config = options.config;
  DeviceConfig& first = config.devices.front();
  if (raw.pipes != 0) first.device.pipes = raw.pipes;
  for (const std::string& interface : raw.interfaces)
    if (auto status = add_interface(interface, first); !status.ok()) return status;
  if (!raw.port_file.empty()) {
    std::ifstream in(raw.port_file);
    if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", raw.port_file));
    std::ostringstream text;
    text << in.rdbuf();
    if (auto status = add_port_file(text.str(), raw.port_file, first); !status.ok()) return status;
  }
  if (raw.workers != 0) config.workers = raw.workers;
  config.poll |= raw.poll;
  if (!raw.log_level.empty()) config.log_level = raw.log_level;
  config.eal.insert(config.eal.end(), raw.eal.begin(), raw.eal.end());
  const std::pair<const std::string&, std::string&> addresses[] = {
      {raw.bfrt, config.bfrt}, {raw.status, config.status}, {raw.control, config.control}};
  for (const auto& [given, target] : addresses)
    if (!given.empty()) target = given == "none" ? "" : given;
  if (!raw.schema.empty()) config.schema = raw.schema;
  if (!raw.program.empty()) config.program = raw.program;
  options.check = raw.check;
  options.json = raw.json;
  options.schema_only = raw.schema_only;
  options.ask = raw.ask;
  options.budget = raw.budget;
  options.own_sizes = raw.config.empty();
  if (auto status = check_config(config); !status.ok()) return status;
  return options;
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
  CLI::App app{kAbout, "l3dml-switch"};
  app.footer(kFooter);
  app.set_version_flag("--version", absl::StrCat("l3dml-switch ", kVersion, " (", kCommit, ")"));
  Raw raw;
  app.add_option("config", raw.config, "YAML file of devices, ports and links")->type_name("FILE");
  app.add_option("-i,--interface", raw.interfaces,
                 "PORT@INTERFACE: a kernel interface as port of the first device")
      ->allow_extra_args(false);
  app.add_option("-f,--port-file", raw.port_file,
                 "ports of the first device, as tofino-model has them (JSON)");
  app.add_option("--pipes", raw.pipes, "pipes of the first device")->check(CLI::Range(1u, 4u));
  app.add_option("--workers", raw.workers, "threads that run pipes (default: pipes of the largest device)")
      ->check(CLI::Range(1u, 64u));
  app.add_flag("--poll", raw.poll, "never sleep: lowest latency, one full core per worker");
  app.add_option("--bfrt", raw.bfrt, "address of the BfRuntime server, or none (default 127.0.0.1:50052)");
  app.add_option("--control", raw.control,
                 "address of the JSON endpoint, unix:PATH, or none (default 127.0.0.1:7778)");
  app.add_option("--status", raw.status,
                 "address that answers 1 when ready, or none (default 127.0.0.1:7777)");
  app.add_option("--schema", raw.schema, "bf-rt.json of another program")->check(CLI::ExistingFile);
  app.add_option("--program", raw.program, "name that BfRuntime clients bind to (default l3dml)");
  app.add_flag("--schema-only", raw.schema_only, "serve --schema without a pipeline");
  app.add_option("--ask", raw.ask, "send one JSON request to a running switch, print its answer");
  app.add_option("--log-level", raw.log_level)->check(CLI::IsMember({"error", "warning", "info", "debug"}));
  app.add_option("--budget", raw.budget, "print what the program asks of this chip, stage by stage, and end")
      ->check(CLI::IsMember({"tofino1", "tofino2", "none"}));
  app.add_flag("--check", raw.check, "read the configuration, report mistakes, and end");
  app.add_flag("--json", raw.json, "print a line when ready and the figures at the end, as JSON");
  int own = argc;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--") {
      own = i;
      raw.eal.assign(argv + i + 1, argv + argc);
      break;
    }
  try {
    app.parse(own, argv);
  } catch (const CLI::Success& success) {
    return {std::nullopt, app.exit(success)};
  } catch (const CLI::ParseError& error) {
    std::cerr << "l3dml-switch: " << error.what() << " (see --help)\n";
    return {std::nullopt, 2};
  }
  auto options = combine(raw);
  if (!options.ok()) {
    std::cerr << "l3dml-switch: " << options.status().message() << "\n";
    return {std::nullopt, 2};
  }
  return {*std::move(options), 0};
}

}  // namespace l3dml::app
