// The controller at the size of a large network: sites in a torus, each with one fake switch that checks
// every write against bf-rt.json, jobs of workers on different sites, members that answer at once. Measures
// job creation, the recovery of a switch that restarts empty and of one that stays away, and memory.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <thread>

#include <unistd.h>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/api/controller.h"
#include "control/jobs/policy_form.h"
#include "control/target/fake_connection.h"
#include "tools/report/report.h"

namespace l3dml::bench {
namespace {

using namespace control;
using Clock = std::chrono::steady_clock;

struct Options {
  int switches = 200, workers = 2000, jobs = 500;
  std::string policy = "drl", store = "sqlite";
  double switch_grace_s = 0.5;
  std::string json;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void give_up(const std::string& what) {
  std::cerr << "control: " << what << "\n";
  std::exit(1);
}

struct Member {
  std::string job;
  uint32_t rank = 0;
  uint64_t attendance = 0;
  std::deque<Controller::ToMember> heard;
  std::map<uint32_t, uint8_t> epochs;  // by stripe
};

class Network {
 public:
  explicit Network(Options options) : options_(std::move(options)) {
    folder_ = std::filesystem::temp_directory_path() / absl::StrCat("l3dml-bench-", getpid());
    std::filesystem::create_directories(folder_);
    std::ifstream in(L3DML_BF_RT);
    const std::string schema{std::istreambuf_iterator<char>(in), {}};
    for (int i = 0; i < options_.switches; ++i) {
      auto fake = target::FakeTarget::create("l3dml", schema);
      if (!fake.ok()) give_up(std::string(fake.status().message()));
      (*fake)->keep_log(false);
      fakes_[site(i)] = *std::move(fake);
    }
  }
  ~Network() {
    controller_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start() {
    Controller::Options options;
    options.connect =
        [this](const SiteRecord& record) -> absl::StatusOr<std::unique_ptr<target::SwitchTarget>> {
      target::FakeTarget* fake = fakes_.at(record.name).get();
      if (!fake->connected())
        if (absl::Status s = fake->reconnect(); !s.ok()) return s;
      return std::make_unique<target::FakeConnection>(fake);
    };
    options.now_ns = [] { return Clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
    options.unix_time_s = [] { return 0.0; };
    options.new_token = [this] { return absl::StrCat("token", ++tokens_); };
    options.switch_grace_s = options_.switch_grace_s;
    std::vector<std::string> refused;
    auto forms = policy_chooser(options_.policy, "", &refused);
    if (!forms.ok()) give_up(std::string(forms.status().message()));
    options.forms = *std::move(forms);
    auto store = open_store(options_.store == "sqlite" ? absl::StrCat("sqlite:", (folder_ / "c.db").string())
                                                       : options_.store);
    if (!store.ok()) give_up(std::string(store.status().message()));
    auto controller = Controller::create(*std::move(store), std::move(options));
    if (!controller.ok()) give_up(std::string(controller.status().message()));
    controller_ = *std::move(controller);
  }

  void add_network() {
    NetworkRecords network;
    const int n = options_.switches, row = std::max(2, static_cast<int>(std::sqrt(n)));
    std::uniform_real_distribution<double> delay(0.002, 0.020);
    for (int i = 0; i < n; ++i) {
      SiteRecord record;
      record.name = site(i);
      record.address = "fake";
      network.sites.push_back(record);
    }
    for (int i = 0; i < n; ++i)
      for (const int to : {(i + 1) % n, (i + row) % n}) {
        LinkRecord link;
        link.name = absl::StrCat("l", i, "-", to);
        link.a = site(i);
        link.b = site(to);
        link.rate_bps = 10e9;
        link.delay_s = delay(random_);
        network.links.push_back(link);
      }
    for (int i = 0; i < options_.workers; ++i) {
      HostRecord host;
      host.name = absl::StrCat("w", i);
      host.site = site(i % n);
      host.rate_bps = 1e9;
      network.hosts.push_back(host);
    }
    if (absl::Status s = controller_->add_network(network); !s.ok()) give_up(std::string(s.message()));
  }

  // Every worker in one job; the members of a job on different sites. Returns the times of creation.
  std::vector<double> create_jobs() {
    std::vector<int> workers(options_.workers);
    for (int i = 0; i < options_.workers; ++i) workers[i] = i;
    std::shuffle(workers.begin(), workers.end(), random_);
    std::vector<double> times;
    const int size = options_.workers / options_.jobs;
    for (int j = 0; j < options_.jobs; ++j) {
      JobSpecification job;
      job.name = absl::StrCat("job", j);
      job.lanes = 64;
      job.lease_s = 600;
      job.on_loss = OnLoss::go_on;
      for (int k = 0; k < size; ++k) job.hosts.push_back(absl::StrCat("w", workers[j * size + k]));
      const auto begin = Clock::now();
      const auto created = controller_->create_job(job);
      times.push_back(seconds_since(begin));
      if (!created.ok()) {
        ++refused_;
        if (refused_ == 1) std::cerr << "control: first refusal: " << created.status().message() << "\n";
        continue;
      }
      join(*created, job);
    }
    return times;
  }

  void join(const JobView& view, const JobSpecification& job) {
    for (uint32_t rank = 0; rank < job.hosts.size(); ++rank) {
      const auto place =
          controller_->join({job.name, view.token, job.hosts[rank], "", {}, static_cast<int>(rank)});
      if (!place.ok()) give_up(std::string(place.status().message()));
      members_.push_back(std::make_unique<Member>());
      Member& member = *members_.back();
      member.job = job.name;
      member.rank = rank;
      std::vector<Controller::Standing> standings;
      for (size_t i = 0; i < view.plan.stripes.size(); ++i) {
        standings.push_back({view.plan.stripes[i].epoch, 0, false});
        member.epochs[static_cast<uint32_t>(i)] = view.plan.stripes[i].epoch;
      }
      const auto attendance =
          controller_->attach(job.name, view.token, rank, standings,
                              [&member](const Controller::ToMember& m) { member.heard.push_back(m); });
      if (!attendance.ok()) give_up(std::string(attendance.status().message()));
      member.attendance = *attendance;
    }
  }

  void answer() {
    for (bool more = true; more;) {
      more = false;
      for (const auto& member : members_)
        for (; !member->heard.empty(); more = true) {
          const Controller::ToMember m = member->heard.front();
          member->heard.pop_front();
          if (std::holds_alternative<FailMember>(m.command)) ++failed_;
          if (std::holds_alternative<PauseMember>(m.command))
            controller_->report(member->job, member->rank, member->attendance, m.stripe,
                                MemberPaused{m.change, member->rank, member->epochs[m.stripe], {}, 0, 0, 0});
          if (const auto* resume = std::get_if<ResumeMember>(&m.command)) {
            member->epochs[m.stripe] = resume->epoch;
            controller_->report(member->job, member->rank, member->attendance, m.stripe,
                                MemberResumed{m.change, member->rank});
          }
        }
    }
  }

  // A switch that sums for many jobs goes; seconds until every one of them runs in a newer epoch than before.
  // The switch comes back empty at once, or stays away.
  struct Recovery {
    double seconds = 0;
    size_t jobs = 0;
  };
  Recovery recover(bool comes_back) {
    const std::string victim = busiest();
    std::map<std::string, uint32_t> changes;
    for (const std::string& name : jobs_at(victim)) changes[name] = controller_->job(name)->changes;
    target::FakeTarget& fake = *fakes_.at(victim);
    if (!comes_back) fake.refuse_reconnect(absl::UnavailableError("it is off"));
    const auto begin = Clock::now();
    fake.restart();
    for (;;) {
      controller_->tick();
      answer();
      const bool done = std::all_of(changes.begin(), changes.end(), [&](const auto& job) {
        const auto view = controller_->job(job.first);
        return view.ok() && view->state == "running" && view->changes > job.second;
      });
      if (done) break;
      if (seconds_since(begin) > 120) give_up("a switch was not recovered from in two minutes");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const double took = seconds_since(begin);
    fake.refuse_reconnect(absl::OkStatus());
    return {took, changes.size()};
  }

  void settle(double seconds) {
    for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
      controller_->tick();
      answer();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  double restart() {
    controller_.reset();
    const auto begin = Clock::now();
    start();
    return seconds_since(begin);
  }

  int refused() const { return refused_; }
  int failed() const { return failed_; }
  double store_bytes() const {
    double bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      bytes += static_cast<double>(file.file_size());
    return bytes;
  }

 private:
  static std::string site(int i) { return absl::StrCat("s", i); }

  std::vector<std::string> jobs_at(const std::string& name) const {
    const SiteId id = controller_->topology().find_site(name);
    std::vector<std::string> jobs;
    for (const JobView& view : controller_->jobs())
      if (std::any_of(view.plan.stripes.begin(), view.plan.stripes.end(), [&](const StripePlan& stripe) {
            return std::any_of(stripe.tree.aggregators.begin(), stripe.tree.aggregators.end(),
                               [&](const Aggregator& a) { return a.site == id; });
          }))
        jobs.push_back(view.name);
    return jobs;
  }
  std::string busiest() const {
    std::map<SiteId, int> count;
    for (const JobView& view : controller_->jobs())
      for (const StripePlan& stripe : view.plan.stripes)
        for (const Aggregator& a : stripe.tree.aggregators) ++count[a.site];
    const auto most = std::max_element(count.begin(), count.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return site(most->first);
  }

  Options options_;
  std::filesystem::path folder_;
  std::mt19937 random_{1};
  std::map<std::string, std::unique_ptr<target::FakeTarget>> fakes_;
  std::vector<std::unique_ptr<Member>> members_;
  int tokens_ = 0, refused_ = 0, failed_ = 0;
  std::unique_ptr<Controller> controller_;
};

int run(const Options& options, const std::string& command) {
  report::Report out{"bench/control", command, {}};
  Network network(options);
  const double empty_bytes = resident_bytes();
  network.start();
  auto begin = Clock::now();
  network.add_network();
  out.add({"network_added", seconds_since(begin), "s"});
  const double network_bytes = resident_bytes();
  const std::vector<double> creation = network.create_jobs();
  out.add({"job_creation", report::median(creation), "s", {}, 0.1, report::spread_of(creation)});
  std::vector<double> sorted = creation;
  std::sort(sorted.begin(), sorted.end());
  out.add({"job_creation_p99", sorted[sorted.size() * 99 / 100], "s"});
  out.add({"jobs_refused", static_cast<double>(network.refused()), "1", {}, 0.0});
  const double full_bytes = resident_bytes();
  out.add({"memory_with_jobs", full_bytes, "B"});
  out.add({"memory_per_job", (full_bytes - network_bytes) / options.jobs, "B"});
  out.add({"memory_of_network", network_bytes - empty_bytes, "B"});
  for (const bool comes_back : {true, false}) {
    std::vector<double> times;
    size_t jobs = 0;
    for (int round = 0; round < 5; ++round) {
      const auto recovery = network.recover(comes_back);
      times.push_back(recovery.seconds);
      jobs = std::max(jobs, recovery.jobs);
      network.settle(1);
    }
    out.add({comes_back ? "recovery_of_a_restarted_switch" : "recovery_without_the_switch",
             report::median(times),
             "s",
             {{"most_jobs", absl::StrCat(jobs)}},
             2.0,
             report::spread_of(times)});
  }
  const double churned_bytes = resident_bytes();
  out.add({"memory_after_recoveries", churned_bytes, "B"});
  out.add({"members_failed", static_cast<double>(network.failed()), "1", {}, 0.0});
  if (options.store == "sqlite") out.add({"store_size", network.store_bytes(), "B"});
  out.add({"controller_restart", network.restart(), "s"});
  for (const report::Row& row : out.rows) {
    const double value = std::get<double>(row.value);
    std::cout << absl::StrFormat("%-32s %12.6g %s", row.name, value, row.unit);
    if (row.spread) std::cout << absl::StrFormat("  (%.4g to %.4g)", row.spread->first, row.spread->second);
    if (row.target)
      std::cout << absl::StrFormat("  wanted at most %g%s", *row.target,
                                   value <= *row.target ? "" : ": MISSED");
    std::cout << "\n";
  }
  if (options.json.empty()) return 0;
  const absl::Status written = report::write_json(out, options.json);
  if (!written.ok()) give_up(std::string(written.message()));
  return 0;
}

}  // namespace
}  // namespace l3dml::bench

int main(int argc, char** argv) {
  l3dml::bench::Options options;
  CLI::App app{"The controller on many fake switches: creation of jobs, recovery, memory."};
  app.add_option("--switches", options.switches, "")->check(CLI::Range(4, 255))->capture_default_str();
  app.add_option("--workers", options.workers, "")->check(CLI::Range(4, 20'000))->capture_default_str();
  app.add_option("--jobs", options.jobs, "")->check(CLI::Range(1, 5'000))->capture_default_str();
  app.add_option("--policy", options.policy, "who chooses stripes, as in the controller's file")
      ->capture_default_str();
  app.add_option("--store", options.store, "sqlite (in a temporary folder), or a store's URL")
      ->capture_default_str();
  app.add_option("--switch-grace", options.switch_grace_s, "seconds")->capture_default_str();
  app.add_option("--json", options.json, "file for the rows; - is standard output");
  CLI11_PARSE(app, argc, argv);
  return l3dml::bench::run(options, l3dml::report::command_line(argc, argv));
}
