// Closed loop: every emulated worker is a real worker core (tools/host) that keeps its window full, repairs
// what is lost, and sums integer tensors again and again; each sum is compared. It tells how fast workers of
// this switch get, and what repairing costs. Its round trips are those of a closed loop: a switch that stalls
// delays what would have been sent, so latency is judged by open loop (open_loop.h).
//
// One thread: step(now) until it is false. Ports and pool outlive this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/gen/flood.h"
#include "tools/gen/histogram.h"
#include "tools/gen/pattern.h"
#include "tools/gen/traffic.h"
#include "tools/host/frame_sink.h"
#include "tools/host/worker_core.h"

namespace l3dml::gen {

struct WindowedOptions {
  int64_t duration_ns = 0;                  // no collective is begun later
  int64_t timeout_ns = 10 * base::kSecond;  // nothing moves for so long: given up
  uint32_t chunks = 4096;                   // of a collective
  std::vector<Flood> floods;
  uint64_t seed = 1;
};

struct WindowedResult {
  uint64_t chunks = 0;  // results held, over all workers
  double seconds = 0;
  uint64_t collectives = 0, wrong = 0;  // of all workers; with a wrong sum
  uint64_t bad_sent = 0;
  bool timed_out = false;
  Histogram round_trip;  // ns, of numbers sent once
  host::WorkerStats stats;
  Strays strays;
  std::string first_wrong;
  double chunks_per_s() const { return seconds > 0 ? static_cast<double>(chunks) / seconds : 0; }
};

class Windowed {
 public:
  Windowed(std::vector<JobTraffic> jobs, PortSet ports, const WindowedOptions& options);
  ~Windowed();

  void begin(int64_t now_ns);
  bool step(int64_t now_ns);  // false: over
  WindowedResult finish(int64_t now_ns);

 private:
  struct Job;
  struct Worker;
  void submit(Worker& worker);
  void on_result(Worker& worker, const host::CollectiveResult& result);
  void on_frame(const base::Packet& packet, int64_t now_ns);
  void send_floods(int64_t now_ns);

  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<int> job_index_;  // by number on the wire; -1: not ours
  std::vector<std::unique_ptr<Worker>> workers_;
  PortSet ports_;
  WindowedOptions options_;
  BadFrames bad_;
  std::vector<double> floods_sent_;  // by flood
  uint64_t ups_ = 0;
  int64_t begin_ns_ = 0, progress_ns_ = 0, now_ns_ = 0;
  uint64_t progress_ = 0;
  WindowedResult result_;
};

}  // namespace l3dml::gen
