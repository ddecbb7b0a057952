// l3dml-gen: wiring only. Opens ports, programs the switch, drives an engine, reports.
#include <cstdio>

#include <sched.h>
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/ethdev_port.h"
#include "dataplane/wire/address.h"
#include "tools/gen/figures.h"
#include "tools/gen/options.h"
#include "tools/report/page.h"

namespace l3dml::gen {
namespace {

volatile sig_atomic_t g_interrupted = 0;

int fail(const absl::Status& status) {
  std::fprintf(stderr, "l3dml-gen: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}

class Generator {
 public:
  Generator(const Options& options, std::string command)
      : o_(options), report_{"l3dml-gen", std::move(command), {}} {}

  absl::Status open() {
    if (o_.mode == Options::Mode::program) return absl::OkStatus();
    io::MbufPool::Config pool{"gen", o_.buffers, o_.max_frame, 256};
    if (absl::Status s = io::start_eal({o_.eal, io::MbufPool::memory_bytes(pool)}); !s.ok()) return s;
    auto made = io::MbufPool::create(pool);
    if (!made.ok()) return made.status();
    pool_ = *std::move(made);
    for (const std::string& device : o_.ports) {
      io::EthdevConfig config;
      config.name = config.device = device;
      config.max_frame = o_.max_frame;
      auto ports = io::EthdevPort::open(config, *pool_);
      if (!ports.ok()) return ports.status();
      ports_.push_back(std::move(ports->front()));
      set_.ports.push_back(ports_.back().get());
    }
    set_.pool = pool_.get();
    if (o_.cpu >= 0) {
      cpu_set_t cpus;
      CPU_ZERO(&cpus);
      CPU_SET(static_cast<unsigned>(o_.cpu), &cpus);
      if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        return absl::InvalidArgumentError(absl::StrCat("--cpu ", o_.cpu, ": there is no such core"));
    }
    return wait_for_links();
  }

  absl::Status run() {
    switch (o_.mode) {
      case Options::Mode::throughput:
        return throughput();
      case Options::Mode::run:
        return fixed_rate();
      case Options::Mode::window:
        return window();
      case Options::Mode::replay:
        return replay();
      case Options::Mode::program:
        return program();
    }
    return absl::OkStatus();
  }

  absl::Status write() {
    if (!o_.json.empty())
      if (absl::Status s = report::write_json(report_, o_.json); !s.ok()) return s;
    if (!o_.html.empty()) return report::write_page(report_, "l3dml-gen", charts_, o_.html);
    return absl::OkStatus();
  }

 private:
  // A link that comes up late would be loss.
  absl::Status wait_for_links() {
    const int64_t until = clock_.now_ns() + 10 * base::kSecond;
    for (size_t i = 0; i < ports_.size(); ++i)
      while (!ports_[i]->link_up()) {
        if (clock_.now_ns() > until || g_interrupted)
          return absl::UnavailableError(
              absl::StrCat("port ", o_.ports[i], ": no link after 10 s; is the other end there?"));
        base::Packet* none[1];
        ports_[i]->rx_burst(none, 0, clock_.now_ns());
      }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<JobTraffic>> traffic(uint32_t lanes, uint32_t max_window) {
    wire::MacAddress mac;
    wire::parse_mac(o_.switch_mac, &mac);
    if (!o_.job_files.empty()) return traffic_of(o_.job_files, ports_.size(), mac);
    const auto shapes = shapes_of(o_, lanes);
    if (!shapes.ok()) return shapes.status();
    ProgramOptions program{o_.bfrt, o_.device_id, o_.device_ports, mac, max_window, ++epoch_};
    return program_switch(*shapes, program);
  }

  Group group(const std::vector<JobTraffic>& jobs, double frame_bytes) const {
    Group group{{"jobs", std::to_string(jobs.size())},
                {"workers", std::to_string(jobs.front().members.size())},
                {"frame_bytes", std::to_string(static_cast<int>(frame_bytes))}};
    group["lanes"] = o_.mix.empty() ? std::to_string(jobs.front().members.front().stripe.lanes) : o_.mix;
    for (const Flood& flood : o_.floods)
      group[absl::StrCat("flood_", std::string(bad_name(flood.kind)))] = absl::StrCat(flood.per_gradient);
    return group;
  }

  template <typename Engine>
  void drive(Engine& engine) {
    while (engine.step(clock_.now_ns()) && !g_interrupted) {
    }
  }

  // Once for each number of lanes, or once for a mix or for job files.
  template <typename Function>
  absl::Status for_each_lanes(uint32_t max_window, Function function) {
    const bool once = !o_.mix.empty() || !o_.job_files.empty();
    for (size_t i = 0; i < (once ? 1 : o_.lanes.size()) && !g_interrupted; ++i) {
      auto jobs = traffic(o_.lanes[i], max_window);
      if (!jobs.ok()) return jobs.status();
      if (absl::Status s = function(*std::move(jobs)); !s.ok()) return s;
    }
    return g_interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
  }

  TrialResult trial(OpenLoop& loop, double rate) {
    loop.begin({rate, o_.time_ns, o_.drain_ns}, clock_.now_ns());
    drive(loop);
    return loop.finish();
  }

  absl::Status throughput() {
    std::vector<std::pair<std::string, SearchResult>> searches;
    std::vector<std::pair<std::string, double>> bars;
    const absl::Status status = for_each_lanes(65536, [&](std::vector<JobTraffic> jobs) -> absl::Status {
      const std::vector<JobTraffic> named = jobs;
      OpenLoop loop(std::move(jobs), set_, {o_.skew_ns, o_.floods, o_.seed});
      const double bytes = loop.mean_frame_bytes();
      const auto most = packets_per_s(o_.rate, bytes);
      if (!most.ok()) return most.status();
      trial(loop, *most / 100);  // warms caches up, on both sides
      SearchResult found = search_throughput({*most, o_.resolution, o_.repeats}, [&](double rate) {
        if (g_interrupted) return TrialResult{};
        TrialResult result = trial(loop, rate);
        std::fprintf(stderr, "  %.0f packet/s: %s\n", rate, result.passed() ? "passed" : "failed");
        return result;
      });
      const Group of = group(named, bytes);
      add_search(found, bytes, of, &report_);
      std::printf("%s lanes, %s workers, %s jobs, frames of %.0f bytes:\n%s", of.at("lanes").c_str(),
                  of.at("workers").c_str(), of.at("jobs").c_str(), bytes, describe(found, bytes).c_str());
      std::fflush(stdout);
      bars.emplace_back(of.at("lanes"), wire_bps(found.throughput_per_s, bytes) * 1e-9);
      searches.emplace_back(of.at("lanes") + " lanes", std::move(found));
      return absl::OkStatus();
    });
    charts_.push_back(report::bar_chart("Throughput by lanes", "Gbit/s on the wire", bars));
    std::vector<std::pair<std::string, const SearchResult*>> by_name;
    std::vector<std::pair<std::string, const Histogram*>> latencies;
    for (const auto& [name, found] : searches) {
      by_name.emplace_back(name, &found);
      latencies.emplace_back(name, found.best ? &found.best->latency : nullptr);
    }
    charts_.push_back(loss_chart(by_name));
    charts_.push_back(latency_chart("Latency at the throughput", latencies));
    return status;
  }

  absl::Status fixed_rate() {
    std::vector<std::pair<std::string, Histogram>> latencies;
    bool wrong = false;
    const absl::Status status = for_each_lanes(65536, [&](std::vector<JobTraffic> jobs) -> absl::Status {
      const std::vector<JobTraffic> named = jobs;
      OpenLoop loop(std::move(jobs), set_, {o_.skew_ns, o_.floods, o_.seed});
      const double bytes = loop.mean_frame_bytes();
      const auto rate = packets_per_s(o_.rate, bytes);
      if (!rate.ok()) return rate.status();
      const TrialResult result = trial(loop, *rate);
      const Group of = group(named, bytes);
      add_trial(result, bytes, of, &report_);
      std::printf("%s lanes:\n%s", of.at("lanes").c_str(), describe(result, bytes).c_str());
      latencies.emplace_back(of.at("lanes") + " lanes", result.latency);
      wrong |= result.wrong != 0;
      return absl::OkStatus();
    });
    std::vector<std::pair<std::string, const Histogram*>> of;
    for (const auto& [name, latency] : latencies) of.emplace_back(name, &latency);
    charts_.push_back(latency_chart("Latency", of));
    return status.ok() && wrong ? absl::DataLossError("results were wrong") : status;
  }

  absl::Status window() {
    std::vector<std::pair<std::string, Histogram>> latencies;
    bool bad = false;
    const absl::Status status = for_each_lanes(o_.window, [&](std::vector<JobTraffic> jobs) -> absl::Status {
      const std::vector<JobTraffic> named = jobs;
      const double bytes =
          static_cast<double>(wire::kHeadSize + 4 * named.front().members.front().stripe.lanes);
      Windowed engine(std::move(jobs), set_, {o_.time_ns, 10 * base::kSecond, o_.chunks, o_.floods, o_.seed});
      engine.begin(clock_.now_ns());
      drive(engine);
      const WindowedResult result = engine.finish(clock_.now_ns());
      const Group of = group(named, bytes);
      add_windowed(result, bytes, of, &report_);
      std::printf("%s lanes:\n%s", of.at("lanes").c_str(), describe(result, bytes).c_str());
      latencies.emplace_back(of.at("lanes") + " lanes", result.round_trip);
      bad |= result.wrong != 0 || result.timed_out;
      return absl::OkStatus();
    });
    std::vector<std::pair<std::string, const Histogram*>> of;
    for (const auto& [name, latency] : latencies) of.emplace_back(name, &latency);
    charts_.push_back(latency_chart("Round trips of a closed loop", of));
    return status.ok() && bad ? absl::DataLossError("sums were wrong, or did not end") : status;
  }

  absl::Status program() {
    const auto jobs = traffic(o_.lanes.front(), o_.window);
    if (!jobs.ok()) return jobs.status();
    const std::vector<Member>& members = jobs->front().members;
    for (unsigned rank = 0; rank < members.size(); ++rank) {
      host::JobConfig config;
      config.name = "gen";
      config.world = static_cast<uint32_t>(members.size());
      config.rank = rank;
      config.stripes = {members[rank].stripe};
      const std::string file = absl::StrCat(o_.folder, "/rank", rank, ".json");
      if (absl::Status s = host::save_job_config(config, file); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status replay() {
    const auto frames = read_capture(o_.capture);
    if (!frames.ok()) return frames.status();
    const auto rate = packets_per_s(o_.rate, 1000);
    if (!rate.ok()) return rate.status();
    Replay engine(*frames, set_, {o_.speed, *rate, o_.loops, o_.drain_ns});
    engine.begin(clock_.now_ns());
    drive(engine);
    const ReplayResult result = engine.finish();
    add_replay(result, &report_);
    std::printf("%s", describe(result).c_str());
    return g_interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
  }

  const Options o_;
  base::MonotonicClock clock_;
  std::unique_ptr<io::MbufPool> pool_;
  std::vector<std::unique_ptr<io::Port>> ports_;
  PortSet set_;
  // Packets of a run before, still in some queue of the switch, must not pass for ours.
  uint8_t epoch_ = static_cast<uint8_t>(clock_.now_ns() / base::kSecond);
  report::Report report_;
  std::vector<std::string> charts_;
};

int main_of(int argc, char** argv) {
  int code = 0;
  const auto options = parse_options(argc, argv, &code);
  if (!options) return code;
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  Generator generator(*options, report::command_line(argc, argv));
  if (const absl::Status s = generator.open(); !s.ok()) return fail(s);
  const absl::Status ran = generator.run();
  if (const absl::Status s = generator.write(); !s.ok()) return fail(s);
  return ran.ok() ? 0 : fail(ran);
}

}  // namespace
}  // namespace l3dml::gen

int main(int argc, char** argv) { return l3dml::gen::main_of(argc, argv); }
