// l3dmlctl: the controller for people. One sub-command, one call; --json prints the answer as l3dml.v1 has
// it. Exit 0; 1: refused or failed; 2: wrong usage.
#include <csignal>
#include <functional>
#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/app/client.h"
#include "control/app/print.h"
#include "control/app/quantity.h"
#include "google/protobuf/util/json_util.h"
#include "tools/report/version.h"

namespace l3dml::control {
namespace {

class Ctl {
 public:
  int run(int argc, char** argv);

 private:
  using Action = std::function<absl::Status()>;
  CLI::App* command(CLI::App* parent, const char* name, const char* help, Action action) {
    CLI::App* sub = parent->add_subcommand(name, help);
    sub->callback([this, action] { action_ = action; });
    return sub;
  }
  void network_commands(CLI::App* app);
  void job_commands(CLI::App* app);
  void completion(CLI::App* app);
  absl::Status create_job();
  absl::Status add_host();
  absl::Status add_link();
  absl::Status set_link();
  absl::Status watch();

  template <typename Message, typename Text>
  absl::Status show(const absl::StatusOr<Message>& answer, Text text) {
    if (!answer.ok()) return answer.status();
    if (json_)
      print_json(*answer, true);
    else
      std::cout << text(*answer);
    return absl::OkStatus();
  }
  void print_json(const google::protobuf::Message& message, bool pretty) {
    std::string text;
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = pretty;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    (void)google::protobuf::util::MessageToJsonString(message, &text, options);
    std::cout << text << (pretty ? "" : "\n") << std::flush;
  }

  ClientOptions options_;
  std::unique_ptr<Client> client_;
  bool json_ = false;
  Action action_;
  // Of the sub-commands.
  std::string name_, a_, b_, rate_, delay_, loss_, state_;
  api::Site site_;
  api::Host host_;
  api::Link link_;
  int port_ = -1;
  api::CreateJobRequest job_;
  std::vector<std::string> hosts_, roots_;
  bool forget_ = false, follow_ = false, go_on_ = false;
};

std::string quiet(const google::protobuf::Message&) { return ""; }

absl::Status take(const std::string& text, absl::StatusOr<double> (*parse)(std::string_view),
                  const char* option, const std::function<void(double)>& set) {
  if (text.empty()) return absl::OkStatus();
  const auto value = parse(text);
  if (!value.ok()) return absl::InvalidArgumentError(absl::StrCat(option, " ", value.status().message()));
  set(*value);
  return absl::OkStatus();
}

void Ctl::network_commands(CLI::App* app) {
  using api::Network;
  command(app, "topology", "sites, hosts with their addresses, links", [this] {
    return show(client_->call(*client_->network, &Network::Stub::GetTopology, api::GetTopologyRequest()),
                [](const api::Topology& t) { return print(t); });
  });
  command(app, "links", "links and their state", [this] {
    return show(client_->call(*client_->network, &Network::Stub::GetTopology, api::GetTopologyRequest()),
                print_links);
  });
  command(app, "devices", "switches: reached or not, what they hold", [this] {
    return show(client_->call(*client_->network, &Network::Stub::ListDevices, api::ListDevicesRequest()),
                [](const api::ListDevicesResponse& d) { return print(d); });
  });
  for (const bool drained : {true, false})
    command(app, drained ? "drain" : "undrain",
            drained ? "make jobs leave the switch of a site" : "let jobs use the switch of a site again",
            [this, drained] {
              api::DrainDeviceRequest request;
              request.set_site(name_);
              request.set_drained(drained);
              return show(client_->call(*client_->network, &Network::Stub::DrainDevice, request), quiet);
            })
        ->add_option("SITE", name_)
        ->required();
  CLI::App* link =
      command(app, "link", "say that a link is up or down, and what it gives; routes and jobs follow",
              [this] { return set_link(); });
  link->add_option("LINK", name_)->required();
  link->add_option("STATE", state_, "up or down")->required()->check(CLI::IsMember({"up", "down"}));
  link->add_option("--rate", rate_, "now, as 100Mbit");
  link->add_option("--delay", delay_, "now, one way, as 25ms");
  link->add_option("--loss", loss_, "now, as 0.1%");

  CLI::App* add = app->add_subcommand("add", "add a site, a host or a link");
  add->require_subcommand(1);
  CLI::App* site = command(add, "site", "a place with one switch", [this] {
    return show(client_->call(*client_->network, &Network::Stub::AddSite, site_), quiet);
  });
  site->add_option_function<std::string>("NAME", [this](const std::string& s) { site_.set_name(s); })
      ->required();
  site->add_option_function<std::string>(
      "--switch", [this](const std::string& s) { site_.set_address(s); },
      "HOST:PORT of its BfRuntime server; none: a router that is not ours");
  site->add_option_function<uint32_t>(
      "--device", [this](uint32_t d) { site_.set_device_id(d); }, "BfRuntime device (0)");
  site->add_option_function<std::string>(
      "--port-speed", [this](const std::string& s) { site_.set_port_speed(s); },
      "of ports that have to be added (BF_SPEED_100G)");
  site->add_option_function<std::string>(
      "--port-fec", [this](const std::string& s) { site_.set_port_fec(s); }, "(BF_FEC_TYP_NONE)");
  site->add_flag_function(
      "--router", [this](int64_t) { site_.set_router(true); }, "forwards, never sums");
  CLI::App* host = command(add, "host", "a machine on an edge port", [this] { return add_host(); });
  host->add_option("NAME", name_)->required();
  host->add_option("--site", a_)->required();
  host->add_option("--rate", rate_, "of its line, as 1Gbit");
  host->add_option("--delay", delay_, "one way, as 1ms");
  host->add_option("--port", port_, "device port (the next free one)");
  CLI::App* new_link = command(add, "link", "between two sites", [this] { return add_link(); });
  new_link->add_option("A", a_)->required();
  new_link->add_option("B", b_)->required();
  new_link->add_option("--name", name_, "(A-B)");
  new_link->add_option("--rate", rate_, "as 100Mbit");
  new_link->add_option("--delay", delay_, "one way, as 25ms");
  new_link->add_option("--loss", loss_, "as 0.1%");

  CLI::App* remove = app->add_subcommand("remove", "remove a site, a host or a link");
  remove->require_subcommand(1);
  for (const char* what : {"site", "host", "link"})
    command(remove, what, "by its name",
            [this, what = std::string(what)] {
              api::RemoveRequest request;
              (what == "site"   ? *request.mutable_site()
               : what == "host" ? *request.mutable_host()
                                : *request.mutable_link()) = name_;
              return show(client_->call(*client_->network, &Network::Stub::Remove, request), quiet);
            })
        ->add_option("NAME", name_)
        ->required();

  command(app, "routes", "what each switch forwards where", [this] {
    api::GetRoutesRequest request;
    request.set_site(name_);
    return show(client_->call(*client_->network, &Network::Stub::GetRoutes, request),
                [](const api::GetRoutesResponse& r) { return print(r); });
  })->add_option("SITE", name_, "only of this one");
  command(app, "counters", "ports, segments of jobs, drops by reason", [this] {
    api::GetStatisticsRequest request;
    request.set_site(name_);
    return show(client_->call(*client_->network, &Network::Stub::GetStatistics, request),
                [](const api::Statistics& s) { return print(s); });
  })->add_option("SITE", name_, "only of this one");
  command(app, "telemetry", "what goes on now: links, loss, arrival skew, slots that wait, round trips",
          [this] {
            api::GetTelemetryRequest request;
            request.set_site(name_);
            return show(client_->call(*client_->network, &Network::Stub::GetTelemetry, request),
                        [](const api::TelemetryFigures& f) { return print(f); });
          })
      ->add_option("SITE", name_, "only of this one");
  CLI::App* events = command(app, "events", "what happened", [this] {
    grpc::ClientContext context;
    api::WatchEventsRequest request;
    request.set_follow(follow_);
    auto reader = client_->events->Watch(&context, request);
    for (api::Event event; reader->Read(&event);) {
      if (json_)
        print_json(event, false);
      else
        std::cout << print(event) << std::flush;
    }
    const grpc::Status status = reader->Finish();
    return status.ok() ? absl::OkStatus() : client_->explain(status);
  });
  events->add_flag("--follow,-f", follow_, "and what happens from now on");
}

absl::Status Ctl::add_host() {
  host_.set_name(name_);
  host_.set_site(a_);
  if (port_ >= 0) host_.set_port(static_cast<uint32_t>(port_));
  if (auto s = take(rate_, parse_rate, "--rate", [&](double v) { host_.set_rate_bps(v); }); !s.ok()) return s;
  if (auto s = take(delay_, parse_duration, "--delay", [&](double v) { host_.set_delay_s(v); }); !s.ok())
    return s;
  return show(client_->call(*client_->network, &api::Network::Stub::AddHost, host_), [](const api::Host& h) {
    return absl::StrCat(h.ipv6(), " ", h.ipv4(), " port ", h.port(), "\n");
  });
}

absl::Status Ctl::set_link() {
  api::SetLinkRequest request;
  request.set_name(name_);
  request.set_down(state_ == "down");
  if (auto s = take(rate_, parse_rate, "--rate", [&](double v) { request.set_rate_bps(v); }); !s.ok())
    return s;
  if (auto s = take(delay_, parse_duration, "--delay", [&](double v) { request.set_delay_s(v); }); !s.ok())
    return s;
  if (auto s = take(loss_, parse_share, "--loss", [&](double v) { request.set_loss(v); }); !s.ok()) return s;
  return show(client_->call(*client_->network, &api::Network::Stub::SetLink, request), quiet);
}

absl::Status Ctl::add_link() {
  link_.set_a(a_);
  link_.set_b(b_);
  link_.set_name(name_.empty() ? absl::StrCat(a_, "-", b_) : name_);
  if (auto s = take(rate_, parse_rate, "--rate", [&](double v) { link_.set_rate_bps(v); }); !s.ok()) return s;
  if (auto s = take(delay_, parse_duration, "--delay", [&](double v) { link_.set_delay_s(v); }); !s.ok())
    return s;
  if (auto s = take(loss_, parse_share, "--loss", [&](double v) { link_.set_loss(v); }); !s.ok()) return s;
  return show(client_->call(*client_->network, &api::Network::Stub::AddLink, link_), quiet);
}

void Ctl::job_commands(CLI::App* app) {
  using api::Jobs;
  command(app, "jobs", "jobs and their state", [this] {
    return show(client_->call(*client_->jobs, &Jobs::Stub::List, api::ListJobsRequest()),
                [](const api::ListJobsResponse& j) { return print(j); });
  });
  command(app, "slots", "which job holds which slots where", [this] {
    auto devices =
        client_->call(*client_->network, &api::Network::Stub::ListDevices, api::ListDevicesRequest());
    if (!devices.ok()) return devices.status();
    return show(client_->call(*client_->jobs, &Jobs::Stub::List, api::ListJobsRequest()),
                [&](const api::ListJobsResponse& jobs) { return print_slots(*devices, jobs); });
  });
  command(app, "explain", "a job: its trees, rates, and what limits it",
          [this] {
            api::GetJobRequest request;
            request.set_name(name_);
            return show(client_->call(*client_->jobs, &Jobs::Stub::Get, request),
                        [](const api::Job& j) { return explain(j); });
          })
      ->add_option("JOB", name_)
      ->required();
  CLI::App* create = command(app, "create", "create a job; prints the token that its members show",
                             [this] { return create_job(); });
  create->add_option("JOB", name_)->required();
  create->add_option("--hosts", hosts_, "by rank, comma-separated")->required()->delimiter(',');
  create->add_option("--roots", roots_, "sites of the roots, one stripe each, SITE or SITE:SHARE (chosen)")
      ->delimiter(',');
  create->add_option_function<uint32_t>(
      "--stripes", [this](uint32_t n) { job_.set_stripes(n); }, "how many to choose (as many as is best)");
  create->add_option_function<uint32_t>(
      "--lanes", [this](uint32_t n) { job_.set_lanes(n); }, "values per packet (256)");
  create->add_option_function<double>(
      "--lease", [this](double s) { job_.set_lease_s(s); },
      "seconds of silence after which a member is lost (10)");
  create->add_option_function<double>(
      "--time-out", [this](double s) { job_.set_timeout_s(s); },
      "seconds in which nothing moves after which a call fails (60)");
  create->add_option_function<uint32_t>(
      "--mtu", [this](uint32_t n) { job_.set_mtu(n); }, "(1500)");
  create->add_flag("--continue", go_on_, "when a member is lost, go on without it");
  CLI::App* end = command(app, "end", "end a job", [this] {
    api::EndJobRequest request;
    request.set_name(name_);
    request.set_forget(forget_);
    return show(client_->call(*client_->jobs, &Jobs::Stub::End, request), quiet);
  });
  end->add_option("JOB", name_)->required();
  end->add_flag("--forget", forget_, "and remove its record");
  command(app, "watch", "jobs as they change, until Ctrl-C", [this] {
    return watch();
  })->add_option("JOB", name_, "only this one, until it has ended");
}

absl::Status Ctl::create_job() {
  job_.set_name(name_);
  for (const std::string& host : hosts_) job_.add_hosts(host);
  for (const std::string& text : roots_) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
    double share = 1;
    if (parts.size() == 2 && (!absl::SimpleAtod(parts[1], &share) || !(share > 0)))
      return absl::InvalidArgumentError(
          absl::StrCat("--roots: the share in ", text, " must be a positive number"));
    api::Root* root = job_.add_roots();
    root->set_site(parts[0]);
    root->set_share(share);
  }
  job_.set_on_loss(go_on_ ? api::CONTINUE : api::END);
  return show(client_->call(*client_->jobs, &api::Jobs::Stub::Create, job_),
              [](const api::CreateJobResponse& r) { return r.token() + "\n"; });
}

absl::Status Ctl::watch() {
  grpc::ClientContext context;
  api::WatchJobsRequest request;
  request.set_name(name_);
  auto reader = client_->jobs->Watch(&context, request);
  for (api::Job job; reader->Read(&job);) {
    if (json_)
      print_json(job, false);
    else
      std::cout << line(job) << std::flush;
    if (!name_.empty() && job.state() == "ended") return context.TryCancel(), absl::OkStatus();
  }
  const grpc::Status status = reader->Finish();
  return status.ok() ? absl::OkStatus() : client_->explain(status);
}

// Sub-commands and options from the very tree that parses them.
void Ctl::completion(CLI::App* app) {
  CLI::App* sub =
      app->add_subcommand("completion", "print a completion script: source <(l3dmlctl completion bash)");
  sub->add_option("SHELL", state_, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  sub->callback([this, app] {
    const auto words = [](CLI::App* of) {
      std::vector<std::string> all;
      for (const CLI::App* s : of->get_subcommands({})) all.push_back(s->get_name());
      for (const CLI::Option* o : of->get_options())
        for (const std::string& name : o->get_lnames()) all.push_back("--" + name);
      return absl::StrJoin(all, " ");
    };
    std::string cases;
    for (CLI::App* s : app->get_subcommands({}))
      absl::StrAppend(&cases, "    ", s->get_name(), ") words=\"", words(s), "\" ;;\n");
    if (state_ == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout
        << "_l3dmlctl() {\n  local command= words i\n  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
           "    [[ ${COMP_WORDS[i]} != -* ]] && { command=${COMP_WORDS[i]}; break; }\n  done\n"
           "  case $command in\n"
        << cases << "    *) words=\"" << words(app)
        << "\" ;;\n  esac\n"
           "  case $command in\n"
           "    explain | end | watch) words+=\" $(l3dmlctl jobs 2>/dev/null | awk 'NR > 1 {print $1}')\" "
           ";;\n"
           "    drain | undrain | routes | counters | telemetry) words+=\" $(l3dmlctl devices 2>/dev/null | "
           "awk 'NR > 1 "
           "{print $1}')\" ;;\n"
           "    link) words+=\" up down $(l3dmlctl links 2>/dev/null | awk 'NR > 1 {print $1}')\" ;;\n  "
           "esac\n"
           "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
           "complete -F _l3dmlctl l3dmlctl\n";
  });
}

int Ctl::run(int argc, char** argv) {
  CLI::App app{"Asks and tells the controller."};
  app.name("l3dmlctl");
  app.set_version_flag("--version", absl::StrCat("l3dmlctl ", report::kVersion, " (", report::kCommit, ")"));
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--controller", options_.address, "HOST:PORT or unix:PATH")
      ->envname("L3DML_CONTROLLER")
      ->capture_default_str();
  app.add_flag("--json", json_, "the answer as JSON, as l3dml.proto has it");
  app.add_option("--timeout", options_.timeout_s, "seconds a call may take")->capture_default_str();
  app.add_option("--cert", options_.tls.certificate, "PEM file of our certificate")->envname("L3DML_CERT");
  app.add_option("--key", options_.tls.key, "PEM file of its key")->envname("L3DML_KEY");
  app.add_option("--authority", options_.tls.authority,
                 "PEM file that the controller's certificate is signed with")
      ->envname("L3DML_AUTHORITY");
  app.add_option("--server-name", options_.server_name, "name in the controller's certificate (the address)");
  network_commands(&app);
  job_commands(&app);
  completion(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (!action_) return 0;  // completion
  auto client = Client::create(options_);
  absl::Status status = client.status();
  if (client.ok()) {
    client_ = *std::move(client);
    status = action_();
  }
  if (status.ok()) return 0;
  std::cerr << "l3dmlctl: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace l3dml::control

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return l3dml::control::Ctl().run(argc, argv);
}
