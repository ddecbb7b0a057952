// l3dml-controller: wiring. Reads its file, opens the store, reaches the switches, serves l3dml.v1 and
// Prometheus until SIGINT or SIGTERM. Exit 0; 1: could not run; 2: wrong usage or file.
#include <chrono>
#include <cstdio>
#include <iostream>

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "CLI/CLI.hpp"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "control/api/controller.h"
#include "control/api/server.h"
#include "control/app/config.h"
#include "control/app/metrics.h"
#include "control/jobs/policy_form.h"
#include "control/target/bfrt_target.h"
#include "nlohmann/json.hpp"
#include "prometheus/exposer.h"
#include "tools/report/version.h"

namespace l3dml::control {
namespace {

// A switch that does not answer for so long counts as gone.
constexpr std::chrono::milliseconds kSwitchTimeout{3'000};
constexpr int kLookMs =
    200;  // how often a stand-by looks at the store, and a controller whether it is still its own

int fail(const absl::Status& status) {
  std::cerr << "l3dml-controller: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}

std::string new_token() {
  std::string bytes(18, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return absl::WebSafeBase64Escape(bytes);
}

absl::Status read_tls(const TlsFiles& files, std::string* certificate, std::string* key,
                      std::string* authority) {
  if (!files.any()) return absl::OkStatus();
  for (const auto& [file, text] :
       {std::pair{&files.certificate, certificate}, {&files.key, key}, {&files.authority, authority}}) {
    auto read = read_file(*file);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  return absl::OkStatus();
}

bool told_to_end(int signals, int wait_ms) {
  pollfd wait{signals, POLLIN, 0};
  return poll(&wait, 1, wait_ms) > 0;
}

// A stand-by waits until the store is nobody's.
absl::StatusOr<std::unique_ptr<Store>> take_store(const ControllerConfig& config, int signals) {
  StoreOptions options;
  options.lease_s = config.store_lease_s;
  if (absl::Status s =
          read_tls(config.store_tls, &options.certificate, &options.private_key, &options.authority);
      !s.ok())
    return s;
  for (bool said = false;;) {
    auto store = open_store(config.store, options);
    if (store.ok() || !config.standby || store.status().code() != absl::StatusCode::kAlreadyExists)
      return store;
    if (!std::exchange(said, true))
      std::cerr << "l3dml-controller: standing by: " << store.status().message() << std::endl;
    if (told_to_end(signals, kLookMs)) return absl::CancelledError("ended while standing by");
  }
}

int run(const ControllerConfig& config, bool json, int signals) {
  target::BfrtOptions device;
  device.timeout = kSwitchTimeout;
  if (absl::Status s =
          read_tls(config.switch_tls, &device.certificate, &device.private_key, &device.authority);
      !s.ok())
    return fail(s);
  ApiOptions api;
  api.addresses = config.listen;
  api.operators = config.operators;
  api.telemetry_ms = static_cast<int64_t>(1e3 * config.telemetry_interval_s);
  if (absl::Status s = read_tls(config.tls, &api.certificate, &api.private_key, &api.client_authority);
      !s.ok())
    return fail(s);

  auto store = take_store(config, signals);
  if (absl::IsCancelled(store.status())) return 0;
  if (!store.ok()) return fail(store.status());
  Controller::Options options;
  options.connect = [device](const SiteRecord& site) {
    target::BfrtOptions one = device;
    one.address = site.address;
    one.device_id = site.device_id;
    return target::connect_bfrt(one);
  };
  options.now_ns = [] {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  };
  options.unix_time_s = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  options.new_token = new_token;
  options.detach_grace_s = config.detach_grace_s;
  options.switch_grace_s = config.switch_grace_s;
  std::vector<std::string> refused;
  auto forms = policy_chooser(config.policy, config.models, &refused);
  if (!forms.ok())
    return fail(absl::Status(forms.status().code(), absl::StrCat("policy: ", forms.status().message())));
  for (const std::string& file : refused)
    std::cerr << "l3dml-controller: a model is left out, others decide: " << file << std::endl;
  options.forms = *std::move(forms);
  options.form_hysteresis = config.policy_hysteresis;
  auto controller = Controller::create(*std::move(store), std::move(options));
  if (!controller.ok()) return fail(controller.status());
  if (absl::Status s = (*controller)->add_network(config.network); !s.ok()) return fail(s);

  Telemetry telemetry(controller->get());
  std::unique_ptr<prometheus::Exposer> exposer;
  const auto metrics = std::make_shared<ControllerMetrics>(controller->get(), &telemetry);
  int metrics_port = 0;
  if (!config.metrics.empty()) {
    try {
      exposer = std::make_unique<prometheus::Exposer>(config.metrics, 2);
      exposer->RegisterCollectable(metrics);
      metrics_port = exposer->GetListeningPorts().front();
    } catch (const std::exception& e) {
      return fail(
          absl::UnavailableError(absl::StrCat("cannot serve metrics on ", config.metrics, ": ", e.what())));
    }
  }
  ApiServer server(controller->get(), &telemetry);
  if (absl::Status s = server.start(api); !s.ok()) return fail(s);
  if (json) {
    std::cout << nlohmann::json{{"ready", true},
                                {"addresses", server.addresses()},
                                {"metrics_port", metrics_port},
                                {"pid", getpid()}}
                     .dump()
              << std::endl;
  } else {
    for (const std::string& address : server.addresses()) std::cout << "serving " << address << "\n";
    std::cout << std::flush;
  }
  while (!told_to_end(signals, kLookMs)) {
    if ((*controller)->holds_store()) continue;
    // At once and without a word to anybody: the switches and members are another's.
    std::cerr << "l3dml-controller: the store is another controller's now, or was away for too long"
              << std::endl;
    _exit(1);
  }
  server.stop();
  return 0;
}

int main_of(int argc, char** argv) {
  CLI::App app{"The controller: one for software switches and Tofinos, over BfRuntime."};
  app.name("l3dml-controller");
  app.set_version_flag("--version",
                       absl::StrCat("l3dml-controller ", report::kVersion, " (", report::kCommit, ")"));
  std::string file, store, metrics;
  std::vector<std::string> listen;
  bool json = false, check = false, standby = false;
  app.add_option("FILE", file, "its configuration (control/app/README.md); without one: the defaults");
  app.add_option("--listen", listen, "address to serve on, HOST:PORT or unix:PATH; instead of the file's");
  app.add_option("--store", store, "sqlite:PATH or etcd://HOST:PORT; instead of the file's");
  app.add_option("--metrics", metrics, "HOST:PORT for Prometheus; instead of the file's");
  app.add_flag("--json", json, "say when ready in one line of JSON");
  app.add_flag("--standby", standby, "wait while another controller has the store, then take over");
  app.add_flag("--check", check, "only report mistakes of the file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  ControllerConfig config;
  if (!file.empty()) {
    auto loaded = load_config(file);
    if (!loaded.ok()) return fail(loaded.status()), 2;
    config = *std::move(loaded);
  }
  if (!listen.empty()) config.listen = listen;
  if (!store.empty()) config.store = store;
  if (!metrics.empty()) config.metrics = metrics;
  config.standby |= standby;
  if (check) return 0;
  // Before any thread, so that all of them leave the signals to us.
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return run(config, json, signalfd(-1, &set, SFD_CLOEXEC));
}

}  // namespace
}  // namespace l3dml::control

int main(int argc, char** argv) { return l3dml::control::main_of(argc, argv); }
