// Sends the frames of a capture again: at the pace of the capture or at a fixed rate, once or several times.
// Interface i of the file goes to port i mod ports. What comes back is counted. One thread: step(now) until
// it is false.
#pragma once

#include <vector>

#include "tools/gen/capture_reader.h"
#include "tools/gen/traffic.h"

namespace l3dml::gen {

struct ReplayOptions {
  double speed = 1;          // times the pace of the capture
  double packets_per_s = 0;  // instead of the capture's pace, if not 0
  unsigned loops = 1;
  int64_t drain_ns = base::kSecond;
};

struct ReplayResult {
  uint64_t frames = 0;  // that were to be sent
  uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0;
  uint64_t too_long = 0;   // frames that no packet buffer holds
  uint64_t no_buffer = 0;  // not sent for want of one
  uint64_t port_drops = 0;
  int64_t late_ns = 0;  // most that a frame was sent after its time
  double seconds = 0;
};

class Replay {
 public:
  // `frames` outlives this.
  Replay(const std::vector<CapturedFrame>& frames, PortSet ports, const ReplayOptions& options);

  void begin(int64_t now_ns);
  bool step(int64_t now_ns);
  ReplayResult finish();

 private:
  int64_t due_ns(uint64_t index) const;
  uint64_t port_drops() const;

  const std::vector<CapturedFrame>& frames_;
  PortSet ports_;
  ReplayOptions options_;
  int64_t length_ns_ = 0;  // of one loop
  int64_t begin_ns_ = 0, last_sent_ns_ = 0, end_ns_ = base::kNever;
  uint64_t next_ = 0, drops_before_ = 0;
  ReplayResult result_;
};

}  // namespace l3dml::gen
