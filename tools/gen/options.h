// The command line of l3dml-gen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gen/flood.h"
#include "tools/gen/program.h"

namespace l3dml::gen {

struct Options {
  enum class Mode : uint8_t { throughput, run, window, replay, program } mode = Mode::run;
  // where
  std::vector<std::string> ports;  // DPDK devices
  std::string bfrt = "127.0.0.1:50052";
  uint32_t device_id = 0;
  std::vector<uint16_t> device_ports;  // of the switch; default 1, 2, ...
  std::string switch_mac = "02:13:d3:00:00:00";
  std::vector<std::string> job_files;  // instead of programming the switch
  std::vector<std::string> eal;
  unsigned buffers = 32768;
  uint32_t max_frame = 1514;
  int cpu = -1;
  // what
  unsigned workers = 4, jobs = 1;
  std::vector<uint32_t> lanes = {256};
  std::string mix;  // "64:1,256:3": jobs of so many lanes, with their shares
  int64_t skew_ns = 0;
  std::vector<Flood> floods;
  std::string rate;  // "10Gbit" on the wire, or "2Mpps"; all workers together
  int64_t time_ns = 5'000'000'000, drain_ns = 500'000'000;
  double resolution = 0.01;
  unsigned repeats = 1;
  uint32_t window = 1024, chunks = 4096;
  uint64_t seed = 1;
  std::string capture;  // replay
  std::string folder;   // program
  double speed = 1;
  unsigned loops = 1;
  // out
  std::string json, html;
};

// The options, or the exit code with which to end (0: help or version was printed).
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

// UPs per second of a rate, given what an average frame takes. Empty: none.
absl::StatusOr<double> packets_per_s(const std::string& rate, double frame_bytes);
// The jobs that these options ask for, where all have `lanes` unless there is a mix.
absl::StatusOr<std::vector<JobShape>> shapes_of(const Options& options, uint32_t lanes);
absl::StatusOr<std::vector<Flood>> parse_floods(const std::vector<std::string>& texts);

}  // namespace l3dml::gen
