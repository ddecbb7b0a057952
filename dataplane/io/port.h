// What a device port is attached to: a NIC, a tap, an end of an emulated link, a recirculation loop. The
// event loop (pipeline/worker) knows nothing else.
//
// Threads: all calls come from the one worker that owns the port, except stats(), which is read while every
// worker stands between two bursts. Memory: rx_burst() hands packets over; tx_burst() takes every packet it
// is given and sends, queues, or drops and counts it. Nothing fails: what goes wrong shows in stats().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "dataplane/base/clock.h"
#include "dataplane/base/packet.h"

namespace l3dml::io {

struct PortStats {
  uint64_t rx_packets = 0;
  uint64_t rx_bytes = 0;
  uint64_t rx_drops = 0;   // no buffer, or the driver's own ring was full
  uint64_t rx_errors = 0;  // bad frames: check sequence, length
  uint64_t tx_packets = 0;
  uint64_t tx_bytes = 0;
  uint64_t tx_drops = 0;   // the output queue was full
  uint64_t tx_errors = 0;  // refused by the driver
};

// Somebody who may sleep: a worker, woken by another thread that has work for it.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  virtual void wake() = 0;  // any thread; cheap if awake
};

// Gets a look at every packet of a port. Called by the port's worker; must not keep the packet.
class Capture {
 public:
  enum class Direction : uint8_t { in, out };
  virtual ~Capture() = default;
  virtual void see(const base::Packet& packet, Direction direction, int64_t now_ns) = 0;
  // True: received packets are handled one at a time, and done() says when the one last seen has been dealt
  // with.
  virtual bool one_by_one() const { return false; }
  virtual void done() {}
};

class Port {
 public:
  explicit Port(std::string name, bool wants_checksum = false)
      : name_(std::move(name)), wants_checksum_(wants_checksum) {}
  virtual ~Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Takes up to `room` packets that arrived; also the moment at which the port does its own chores.
  virtual unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) = 0;
  virtual void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) = 0;
  virtual PortStats stats() const = 0;
  virtual bool link_up() const { return true; }

  // --- sleeping ---
  // rx_burst() should be called at this time even if nothing woke the worker.
  virtual int64_t next_deadline_ns() const { return base::kNever; }
  // Readable (level-triggered) when packets wait; -1: none, so the worker never sleeps longer than
  // kBlindSleep.
  virtual int wake_fd() const { return -1; }
  // True where packets arrive by other means than wake_fd(): next_deadline_ns() or another worker says it
  // all.
  virtual bool needs_wake_fd() const { return true; }
  // The worker saw wake_fd() readable. A port that costs a system call per look waits for this.
  virtual void wake() {}
  virtual bool waits_for_wake() const { return false; }
  // Before sleep: let wake_fd() speak up. False: packets came meanwhile, do not sleep. disarm() after sleep.
  virtual bool arm() { return true; }
  virtual void disarm() {}

  const std::string& name() const { return name_; }
  bool wants_checksum() const { return wants_checksum_; }
  // Set while the workers stand; owned by whoever set it.
  Capture* capture() const { return capture_; }
  void set_capture(Capture* capture) { capture_ = capture; }

 private:
  std::string name_;
  bool wants_checksum_;         // hosts behind it want a real UDP checksum
  Capture* capture_ = nullptr;  // gets a copy of each packet in and out
};

constexpr int64_t kBlindSleep = 500 * base::kMicrosecond;  // longest sleep while a port cannot wake us

}  // namespace l3dml::io
