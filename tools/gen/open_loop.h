// Gradients at a fixed rate, whatever comes back: every worker sends every number at its time, each exactly
// once, and each result is compared with the sum it must be. What does not come back is loss; nothing is
// repaired. Latency is measured from the time at which the last worker should have sent, so that neither a
// stalled switch nor a stalled generator hides what it delays (coordinated omission).
//
// Sans-I/O but for the ports it is given: one thread calls begin(), step(now) until it is false, finish().
// Numbers and sequence numbers go on from trial to trial, so one object serves a whole search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/gen/flood.h"
#include "tools/gen/histogram.h"
#include "tools/gen/pattern.h"
#include "tools/gen/traffic.h"

namespace l3dml::gen {

struct OpenLoopOptions {
  int64_t skew_ns = 0;        // the last worker of a job sends so much after the first, the others in between
  std::vector<Flood> floods;  // bad frames in between
  uint64_t seed = 1;
};

struct Trial {
  double packets_per_s = 0;  // UPs of all workers together
  int64_t duration_ns = 0;
  int64_t drain_ns = 0;  // results are awaited so long after the last UP
};

struct TrialResult {
  double offered_per_s = 0;                              // UPs, as asked for
  double sent_per_s = 0;                                 // over the time that sending took
  uint64_t sent = 0, received = 0, lost = 0, wrong = 0;  // UPs; right results; results never seen; wrong ones
  uint64_t frame_bytes = 0;                              // of UPs, with their heads
  uint64_t bad_sent = 0;                                 // frames of floods
  uint64_t port_drops = 0;                               // our own ports could not take or hand over
  uint64_t no_buffer = 0;                                // frames that were not sent for want of one
  int64_t late_ns = 0;                                   // most that a UP was sent after its time
  Histogram latency;                                     // ns, of results
  Strays strays;
  std::string first_wrong;  // what was wrong, of the first

  double loss() const { return sent ? static_cast<double>(lost) / static_cast<double>(sent) : 0; }
  // Loss-free, right, and offered as fast as asked for.
  bool passed() const { return sent && !lost && !wrong && !no_buffer && sent_per_s >= 0.99 * offered_per_s; }
};

class OpenLoop {
 public:
  // Every job has at least one worker; ports and pool outlive this.
  OpenLoop(std::vector<JobTraffic> jobs, PortSet ports, const OpenLoopOptions& options);

  void begin(const Trial& trial, int64_t now_ns);
  bool step(int64_t now_ns);  // false: everything is sent, and received or given up
  int64_t next_ns() const;    // nothing is to be sent before, as far as that goes
  TrialResult finish();

  double members() const { return static_cast<double>(streams_.size()); }
  // Of an average UP, head included.
  double mean_frame_bytes() const;

 private:
  struct Job {
    JobTraffic traffic;
    Pattern pattern;
    double gap_ns = 0;   // between numbers, in this trial
    uint64_t count = 0;  // numbers in this trial
    uint32_t first = 0;  // of the trial
    size_t first_stream = 0;
    int64_t skew_ns = 0;  // of its last worker
  };
  struct Stream {  // one worker of one job
    const Member* member;
    Job* job;
    unsigned child;
    int64_t skew_ns = 0;
    wire::Head head;
    uint32_t frame_size = 0;
    uint64_t sent = 0;           // in this trial
    std::vector<uint32_t> seqs;  // next, by shard
    std::vector<uint32_t> seen;  // by number mod ring: the number whose result came last
  };
  struct FloodState {
    Flood flood;
    double gap_ns = 0;
    uint64_t sent = 0;
  };

  int64_t due_ns(const Stream& stream, uint64_t index) const {
    return begin_ns_ + stream.skew_ns + static_cast<int64_t>(static_cast<double>(index) * stream.job->gap_ns);
  }
  bool receive(int64_t now_ns);
  void on_frame(const base::Packet& packet, int64_t now_ns);
  void on_result(Stream& stream, const host::ReceivedFrame& frame, int64_t now_ns);
  void wrong(const Stream& stream, const host::ReceivedFrame& frame, const char* what);
  bool send_due(Stream& stream, int64_t now_ns);
  void send_floods(int64_t now_ns);
  void fill(Stream& stream, base::Packet* packet);
  uint64_t port_drops() const;

  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<Stream> streams_;  // job after job, by child
  std::vector<int> job_index_;   // by number on the wire; -1: not ours
  PortSet ports_;
  OpenLoopOptions options_;
  std::vector<FloodState> floods_;
  BadFrames bad_;
  Trial trial_;
  int64_t begin_ns_ = 0, last_sent_ns_ = 0, end_ns_ = 0;
  uint64_t drops_before_ = 0, expected_ = 0;
  size_t unfinished_ = 0;  // streams that have not sent all
  TrialResult result_;
};

}  // namespace l3dml::gen
