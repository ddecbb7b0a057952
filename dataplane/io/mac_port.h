// The MAC in front of what a device port is attached to: switches the port on and off, loops it back, keeps
// to its frame limits, counts as hardware counts ($PORT_STAT), and holds the egress shaper. Mirrors what a
// Tofino's $PORT and tm.port tables set.
//
// Threads: as Port; receiving and transmitting may be two workers. set() and the figures: while both stand.
// Owns the real port.
#pragma once

#include <memory>

#include "dataplane/io/frame_counters.h"
#include "dataplane/io/link.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

enum class Loopback : uint8_t {
  none,
  near,  // what is sent comes back as received; the line is silent both ways
  far,   // what the line brings goes back to it; the switch sees and sends nothing
};

struct MacSettings {
  bool receive = true, transmit = true;
  Loopback loopback = Loopback::none;
  uint32_t rx_limit_bytes = 10240, tx_limit_bytes = 10240;  // frame with check sequence
};

class MacPort final : public Port {
 public:
  struct Queue {            // what waits to be sent
    uint64_t rate_bps = 0;  // 0: no limit
    uint64_t bytes = 0, max_bytes = 0, drops = 0;
  };
  // `line`: the emulated link that carries what this port sends, null if there is none. `receiver`: the
  // worker that receives. `one_worker`: it also sends.
  MacPort(std::unique_ptr<Port> real, Link* line, Wakeable& receiver, bool one_worker);
  ~MacPort() override;

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override;
  void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) override;
  PortStats stats() const override;
  bool link_up() const override { return settings_.loopback == Loopback::near || real_->link_up(); }
  int64_t next_deadline_ns() const override;
  int wake_fd() const override { return real_->wake_fd(); }
  bool needs_wake_fd() const override { return real_->needs_wake_fd(); }
  void wake() override { real_->wake(); }
  bool waits_for_wake() const override { return real_->waits_for_wake(); }
  bool arm() override { return real_->arm(); }
  void disarm() override { real_->disarm(); }

  // --- while both workers stand ---
  const MacSettings& settings() const { return settings_; }
  bool can_loop_far() const { return one_worker_; }
  void set(const MacSettings& settings);
  // At most so much leaves, of bytes on the wire as links count them; the rest queues. 0: no limit of ours.
  void shape(uint64_t rate_bps, int64_t now_ns);
  Queue queue() const;
  void reset_mark();  // max_bytes becomes what waits now
  const FrameCounters& received() const { return rx_; }
  const FrameCounters& sent() const { return tx_; }

 private:
  unsigned admit(base::Packet** packets, unsigned count);
  void send(std::span<base::Packet* const> packets, int64_t now_ns);
  void drain(int64_t now_ns);

  const std::unique_ptr<Port> real_;
  Link* const line_;
  Wakeable& receiver_;
  const bool one_worker_;
  MacSettings settings_;
  std::unique_ptr<Port> loop_;    // there once the port was looped back; from sender to receiver
  std::unique_ptr<Link> shaper_;  // there once a port without line was shaped
  alignas(64) FrameCounters rx_;  // the receiver's
  alignas(64) FrameCounters tx_;  // the sender's
};

}  // namespace l3dml::io
