#include "tools/gen/options.h"

#include <charconv>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "dataplane/io/units.h"
#include "dataplane/wire/address.h"
#include "tools/gen/figures.h"
#include "tools/report/version.h"

namespace l3dml::gen {
namespace {

constexpr const char* kFooter =
    "Examples (the switch runs, its ports 1 to 4 are wired to ours):\n"
    "  l3dml-gen throughput --port 0000:01:00.0 --port 0000:01:00.1 --workers 8 --lanes 64,256 --html t.html "
    "-- -a 0000:01:00.0 -a 0000:01:00.1\n"
    "  l3dml-gen run --port net_memif0,socket=/run/m0.sock --rate 2Gbit --time 10s --skew 100us\n"
    "  l3dml-gen run --port net_memif0,socket=/run/m0.sock --rate 1Mpps --flood unknown-job:1 --flood "
    "jumbo:0.1\n"
    "  l3dml-gen window --port net_memif0,socket=/run/m0.sock --mix 64:1,256:3 --window 512\n"
    "  l3dml-gen replay trace.pcapng --port net_memif0,socket=/run/m0.sock --speed 2\n"
    "What follows -- goes to DPDK's EAL.";

struct Raw {
  std::string skew = "0", time = "5s", drain = "500ms";
  std::vector<std::string> floods;
};

void add_wiring(CLI::App* sub, Options* o) {
  sub->add_option("--port", o->ports,
                  "DPDK device to send and receive by; several: workers behind them in turn")
      ->required();
  sub->add_option("--buffers", o->buffers, "packet buffers")->check(CLI::Range(256u, 4'000'000u));
  sub->add_option("--max-frame", o->max_frame, "bytes of the longest frame")->check(CLI::Range(128u, 9728u));
  sub->add_option("--cpu", o->cpu, "pin to this core")->check(CLI::Range(0, 1023));
  sub->add_option("--json", o->json, "write the report there (- for standard output)");
  sub->add_option("--html", o->html, "write a page with plots there");
}

void add_traffic(CLI::App* sub, Options* o, Raw* raw) {
  sub->add_option("--switch", o->bfrt, "BfRuntime address of the switch, which is programmed for this run");
  sub->add_option("--device", o->device_id, "BfRuntime device_id");
  sub->add_option("--device-port", o->device_ports,
                  "device ports that ours lead to, in order (default 1, 2, ...)")
      ->delimiter(',');
  sub->add_option("--switch-mac", o->switch_mac, "link-layer address of the switch");
  sub->add_option("--job-file", o->job_files,
                  "instead: job files of all ranks, of a switch that is programmed");
  sub->add_option("--workers", o->workers, "emulated workers of each job")->check(CLI::Range(1u, 31u));
  sub->add_option("--jobs", o->jobs, "jobs, all alike")->check(CLI::Range(1u, 256u));
  sub->add_option("--lanes", o->lanes, "values a packet; several: one after the other")
      ->delimiter(',')
      ->check(CLI::IsMember({64, 128, 192, 256, 320}));
  sub->add_option("--mix", o->mix, "instead: jobs of several sizes at once, LANES:SHARE,...");
  sub->add_option("--flood", raw->floods,
                  "KIND:RATIO bad frames for each gradient; unknown-job, wrong-lanes, jumbo, fragment, "
                  "wrong-epoch, wrong-source, truncated, garbage");
  sub->add_option("--time", raw->time, "how long to send (throughput: in each trial)");
  sub->add_option("--seed", o->seed, "of lanes and floods");
}

absl::StatusOr<double> number(const std::string& text, const char* what) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value > 0))
    return absl::InvalidArgumentError(absl::StrCat(what, ": \"", text, "\" is no positive number"));
  return value;
}

absl::Status combine(const Raw& raw, Options* o) {
  for (const auto& [text, ns] : {std::pair(&raw.skew, &o->skew_ns), std::pair(&raw.time, &o->time_ns),
                                 std::pair(&raw.drain, &o->drain_ns)}) {
    const auto duration = io::parse_duration(*text);
    if (!duration.ok()) return duration.status();
    *ns = *duration;
  }
  if (o->mode != Options::Mode::replay && o->time_ns == 0)
    return absl::InvalidArgumentError("--time must be more than 0");
  auto floods = parse_floods(raw.floods);
  if (!floods.ok()) return floods.status();
  o->floods = *std::move(floods);
  if (const auto shapes = shapes_of(*o, o->lanes.front()); !shapes.ok()) return shapes.status();
  if (const auto rate = packets_per_s(o->rate, 1000); !rate.ok()) return rate.status();
  if (o->mode == Options::Mode::run && o->rate.empty())
    return absl::InvalidArgumentError("--rate is needed, for example --rate 10Gbit or --rate 1Mpps");
  if (o->mode == Options::Mode::throughput && o->rate.empty()) o->rate = "10Gbit";
  if (o->window & (o->window - 1)) return absl::InvalidArgumentError("--window must be a power of two");
  wire::MacAddress mac;
  if (!wire::parse_mac(o->switch_mac, &mac))
    return absl::InvalidArgumentError(
        absl::StrCat("--switch-mac: \"", o->switch_mac, "\" is no MAC address"));
  if (o->device_ports.empty())
    for (size_t i = 0; i < o->ports.size(); ++i) o->device_ports.push_back(static_cast<uint16_t>(i + 1));
  if (o->mode != Options::Mode::program && o->device_ports.size() != o->ports.size())
    return absl::InvalidArgumentError(absl::StrCat("--device-port: ", o->device_ports.size(), " for ",
                                                   o->ports.size(), " ports; give one for each"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> packets_per_s(const std::string& rate, double frame_bytes) {
  if (rate.empty()) return 0;
  std::string text = rate;
  for (const auto& [suffix, factor] :
       {std::pair("Mpps", 1e6), std::pair("kpps", 1e3), std::pair("pps", 1.0)}) {
    if (!text.ends_with(suffix)) continue;
    text.resize(text.size() - std::string_view(suffix).size());
    const auto value = number(text, "--rate");
    return value.ok() ? absl::StatusOr<double>(*value * factor) : value;
  }
  const auto bits = io::parse_rate(text);
  if (!bits.ok() || *bits == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--rate: \"", rate, "\" is neither like 10Gbit (on the wire) nor like 2.5Mpps"));
  return static_cast<double>(*bits) / wire_bps(1, frame_bytes);
}

absl::StatusOr<std::vector<JobShape>> shapes_of(const Options& o, uint32_t lanes) {
  if (o.mix.empty()) return std::vector<JobShape>(o.jobs, {o.workers, lanes, 1});
  std::vector<JobShape> shapes;
  const std::vector<std::string> parts = absl::StrSplit(o.mix, ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> halves = absl::StrSplit(part, ':');
    uint32_t value = 0;
    if (halves.size() > 2 || !absl::SimpleAtoi(halves[0], &value) || value == 0 || value % 64 || value > 320)
      return absl::InvalidArgumentError(
          absl::StrCat("--mix: \"", part, "\" must be LANES:SHARE with 64, 128, 192, 256 or 320 lanes"));
    const auto share = number(halves.size() == 2 ? halves[1] : "1", "--mix");
    if (!share.ok()) return share.status();
    for (unsigned i = 0; i < o.jobs; ++i) shapes.push_back({o.workers, value, *share});
  }
  return shapes;
}

absl::StatusOr<std::vector<Flood>> parse_floods(const std::vector<std::string>& texts) {
  std::vector<Flood> floods;
  for (const std::string& text : texts) {
    const std::vector<std::string> halves = absl::StrSplit(text, ':');
    const auto kind = parse_bad(halves[0]);
    if (!kind || halves.size() > 2)
      return absl::InvalidArgumentError(
          absl::StrCat("--flood: \"", text, "\" is not KIND:RATIO with a kind that --help lists"));
    const auto ratio = number(halves.size() == 2 ? halves[1] : "1", "--flood");
    if (!ratio.ok()) return ratio.status();
    floods.push_back({*kind, *ratio});
  }
  return floods;
}

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  CLI::App app{"Line-rate gradient traffic: emulated workers that send, and check every result.",
               "l3dml-gen"};
  app.footer(kFooter);
  app.set_version_flag("--version", absl::StrCat("l3dml-gen ", report::kVersion, " (", report::kCommit, ")"));
  app.require_subcommand(1);
  Options o;
  Raw raw;
  int count = 1;  // of our own arguments
  while (count < argc && std::string_view(argv[count]) != "--") ++count;
  for (int i = count + 1; i < argc; ++i) o.eal.emplace_back(argv[i]);

  CLI::App* throughput =
      app.add_subcommand("throughput", "the highest loss-free rate (RFC 2544), and the latency at it");
  CLI::App* run = app.add_subcommand("run", "a fixed rate, whatever comes back (open loop)");
  CLI::App* window = app.add_subcommand("window", "as fast as results come back (closed loop, with repairs)");
  CLI::App* replay = app.add_subcommand("replay", "the frames of a pcap or pcapng file");
  CLI::App* program =
      app.add_subcommand("program", "no traffic: program the switch for real workers, write their job files");
  program->add_option("FOLDER", o.folder, "where rankN.json of all workers go")->required();
  program->add_option("--switch", o.bfrt, "BfRuntime address of the switch");
  program->add_option("--device", o.device_id, "BfRuntime device_id");
  program->add_option("--device-port", o.device_ports, "device ports of the workers, in order")
      ->delimiter(',')
      ->required();
  program->add_option("--workers", o.workers, "of the job")->check(CLI::Range(1u, 31u));
  program->add_option("--lanes", o.lanes, "values a packet")->check(CLI::IsMember({64, 128, 192, 256, 320}));
  program->add_option("--window", o.window, "numbers in flight of each worker, a power of two")
      ->check(CLI::Range(32u, 65536u));
  replay->add_option("FILE", o.capture, "pcap or pcapng, Ethernet")->required();
  for (CLI::App* sub : {throughput, run, window, replay}) add_wiring(sub, &o);
  for (CLI::App* sub : {throughput, run, window}) add_traffic(sub, &o, &raw);
  for (CLI::App* sub : {throughput, run, replay})
    sub->add_option("--drain", raw.drain, "how long to wait for the last results");
  for (CLI::App* sub : {throughput, run})
    sub->add_option("--skew", raw.skew, "the last worker of a job sends so much after the first");
  run->add_option("--rate", o.rate, "of all workers together: 10Gbit (on the wire) or 2.5Mpps");
  throughput->add_option("--rate", o.rate, "highest rate to try: 10Gbit (default; on the wire) or 2.5Mpps");
  throughput->add_option("--resolution", o.resolution, "of the highest rate: where the search ends")
      ->check(CLI::Range(0.0001, 0.5));
  throughput->add_option("--repeats", o.repeats, "trials that must pass at a rate")
      ->check(CLI::Range(1u, 100u));
  window->add_option("--window", o.window, "numbers in flight of each worker, a power of two")
      ->check(CLI::Range(32u, 65536u));
  window->add_option("--chunks", o.chunks, "packets of a collective")->check(CLI::Range(1u, 1u << 20));
  replay->add_option("--speed", o.speed, "times the pace of the capture")->check(CLI::Range(1e-6, 1e6));
  replay->add_option("--rate", o.rate, "instead: a fixed rate, like 10kpps");
  replay->add_option("--loops", o.loops, "how often")->check(CLI::Range(1u, 1'000'000u));
  try {
    app.parse(count, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  o.mode = app.got_subcommand(throughput) ? Options::Mode::throughput
           : app.got_subcommand(run)      ? Options::Mode::run
           : app.got_subcommand(window)   ? Options::Mode::window
           : app.got_subcommand(program)  ? Options::Mode::program
                                          : Options::Mode::replay;
  if (const absl::Status status = combine(raw, &o); !status.ok()) {
    std::fprintf(stderr, "l3dml-gen: %s\n", std::string(status.message()).c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  return o;
}

}  // namespace l3dml::gen
