// l3dml-switch: reads what it is made of, builds it, serves until it is told to end. Only wiring.
#include <fstream>
#include <iostream>
#include <sstream>

#include <rte_eal.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "dataplane/app/binding.h"
#include "dataplane/app/control.h"
#include "dataplane/app/endpoint.h"
#include "dataplane/app/log.h"
#include "dataplane/app/options.h"
#include "dataplane/app/program.h"
#include "dataplane/app/report.h"
#include "dataplane/app/switch_ports.h"
#include "dataplane/server/server.h"

namespace l3dml::app {

namespace {

int fail(const absl::Status& status) {
  std::cerr << "l3dml-switch: " << status.message() << "\n";
  return 1;
}

// SIGINT and SIGTERM end the program in order; blocked in all threads, taken here.
sigset_t end_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

absl::StatusOr<std::string> read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

absl::StatusOr<server::ServerOptions> server_options(const SwitchConfig& config) {
  server::ServerOptions options{.address = config.bfrt};
  const std::pair<const std::string&, std::string&> files[] = {
      {config.bfrt_tls.certificate, options.certificate},
      {config.bfrt_tls.key, options.private_key},
      {config.bfrt_tls.clients, options.client_authority}};
  for (const auto& [path, target] : files) {
    if (path.empty()) continue;
    auto text = read_file(path);
    if (!text.ok()) return text.status();
    target = *std::move(text);
  }
  return options;
}

using Ports = std::vector<std::unique_ptr<SwitchPorts>>;

// `the_switch` null: schema mode. `ports` outlives the server.
absl::Status serve_bfrt(const SwitchConfig& config, Switch* the_switch, Ports& ports,
                        server::BfrtServer& bfrt) {
  const auto text = config.schema.empty() ? absl::StatusOr<std::string>(std::string(kProgramJson))
                                          : read_file(config.schema);
  if (!text.ok()) return text.status();
  const auto options = server_options(config);
  if (!options.ok()) return options.status();
  for (size_t i = 0; i < config.devices.size(); ++i) {
    if (the_switch) ports.push_back(std::make_unique<SwitchPorts>(the_switch->members()[i]));
    pipeline::Device* const device = the_switch ? the_switch->members()[i].device.get() : nullptr;
    const auto description = device ? bind_program(*text, *device) : text;
    if (!description.ok()) return description.status();
    auto driver = server::Driver::create({.device_id = config.devices[i].id,
                                          .program_name = config.program,
                                          .program_json = *description,
                                          .twin = device,
                                          .ports = the_switch ? ports[i].get() : nullptr,
                                          .pipes = config.devices[i].device.pipes});
    if (!driver.ok()) return driver.status();
    if (auto status = bfrt.add_device(*std::move(driver)); !status.ok()) return status;
  }
  return bfrt.start(*options);
}

void say_ready(const Options& options, const server::BfrtServer& bfrt, const std::string& control,
               const std::string& status) {
  if (!options.json) return;
  nlohmann::json line = {{"ready", true}, {"control", control}, {"status", status}, {"pid", getpid()}};
  line["bfrt_port"] = options.config.bfrt.empty() ? nlohmann::json() : nlohmann::json(bfrt.port());
  std::cout << line.dump() << std::endl;
}

int run(const Options& options, const std::string& command) {
  const SwitchConfig& config = options.config;
  const Log log(config.log_level);
  std::unique_ptr<Listener> listeners[2];
  const std::string* addresses[] = {&config.control, &config.status};
  for (size_t i = 0; i < 2; ++i) {  // first of all: a second switch ends here, before it touches interfaces
    if (addresses[i]->empty()) continue;
    auto listener = Listener::open(*addresses[i]);
    if (!listener.ok()) return fail(listener.status());
    listeners[i] = *std::move(listener);
  }
  const std::string control_address = listeners[0] ? listeners[0]->address() : "";
  const std::string status_address = listeners[1] ? listeners[1]->address() : "";

  std::unique_ptr<Switch> the_switch;
  if (!options.schema_only) {
    auto built = Switch::build(config);
    if (!built.ok()) return fail(built.status());
    the_switch = *std::move(built);
    the_switch->start();
  }
  Ports ports;
  server::BfrtServer bfrt;
  if (!config.bfrt.empty())
    if (auto status = serve_bfrt(config, the_switch.get(), ports, bfrt); !status.ok()) return fail(status);
  std::unique_ptr<Control> control;
  if (the_switch) control = std::make_unique<Control>(*the_switch, [] { kill(getpid(), SIGTERM); });
  std::unique_ptr<Endpoint> endpoint =
      std::make_unique<Endpoint>(the_switch ? std::move(listeners[0]) : nullptr, std::move(listeners[1]),
                                 [&](const std::string& line) { return control->handle_line(line); });

  log.info(absl::StrCat(config.devices.size(), " device(s), ", config.links.size(), " link(s), ",
                        the_switch ? the_switch->workers().size() : 0, " worker(s)",
                        config.bfrt.empty() ? "" : absl::StrCat(", BfRuntime on port ", bfrt.port()),
                        control_address.empty() ? "" : absl::StrCat(", control on ", control_address)));
  say_ready(options, bfrt, control_address, status_address);

  const sigset_t signals = end_signals();
  int signal = 0;
  sigwait(&signals, &signal);
  log.info(absl::StrCat("ending on ", strsignal(signal)));
  endpoint.reset();
  bfrt.stop();
  if (the_switch) {
    const nlohmann::json stats = the_switch->stats();
    the_switch->stop();
    if (options.json) std::cout << report(stats, command).dump() << std::endl;
    the_switch.reset();
    rte_eal_cleanup();
  }
  return 0;
}

int ask_running(const Options& options) {
  const auto answer = ask(options.config.control, options.ask);
  if (!answer.ok()) return fail(answer.status());
  std::cout << *answer << "\n";
  return answer->find("\"ok\":true") == std::string::npos;
}

}  // namespace
}  // namespace l3dml::app

int main(int argc, char** argv) {
  using namespace l3dml::app;
  const Parsed parsed = parse_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (!parsed.options->ask.empty()) return ask_running(*parsed.options);
  if (parsed.options->check) return 0;
  std::string command;
  for (int i = 0; i < argc; ++i) absl::StrAppend(&command, i ? " " : "", argv[i]);
  if (!parsed.options->budget.empty())
    return print_budget(parsed.options->config, *l3dml::tna::find_chip(parsed.options->budget),
                        parsed.options->own_sizes, parsed.options->json, command);
  const sigset_t signals = end_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return run(*parsed.options, command);
}
