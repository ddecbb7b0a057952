// The event loop: bursts from ports into pipes, what leaves into ports, time to those who wait for it.
// run_once() is the whole packet path; run() adds sleep and the stand-still that the driver needs. One worker
// = one thread.
//
// Ownership: pipes and ports outlive the worker. A packet belongs to the pipe from process() to the outbox
// and to the output port afterwards. Nothing here fails; packets for ports that are wired to nothing are
// counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/io/port.h"
#include "dataplane/pipeline/device.h"
#include "dataplane/pipeline/sleeper.h"

namespace l3dml::pipeline {

constexpr size_t kDevicePorts = 512;  // 2-bit pipe, 7-bit port
constexpr size_t kPipes = 4;

// A pipe and what its device's ports are attached to, as seen from the pipe's worker.
struct PipeWiring {
  static constexpr uint16_t kKeepPort = 0xffff;  // packets bring their device port along
  struct Input {
    io::Port* port;
    uint16_t device_port;  // or kKeepPort: from another pipe, or recirculated
  };
  Pipe* pipe = nullptr;
  std::vector<Input> inputs;                         // polled in this order
  std::array<io::Port*, kDevicePorts> outputs = {};  // null: no such port
  // Devices of several pipes: which pipe serves a received packet, and the way there. Empty: this one.
  std::function<unsigned(const base::Packet&)> steer;
  std::array<io::Port*, kPipes> to_pipes = {};  // null: the pipe of this wiring
};

// Packets of another worker (a Crossing) on their way to a port of ours.
struct Forward {
  io::Port* from;
  io::Port* to;
};

struct WorkerStats {
  uint64_t loops = 0;
  uint64_t bursts = 0;   // received
  uint64_t packets = 0;  // received
  uint64_t sleeps = 0;
  uint64_t unwired = 0;  // packets dropped: their output port is attached to nothing
};

class Worker final : public io::Wakeable {
 public:
  struct Options {
    bool poll = false;    // never sleep
    int64_t spin_ns = 0;  // stay awake this long after the last packet and before the next deadline
    int cpu = -1;         // pin to it
  };
  explicit Worker(const Options& options);

  // Before the first run.
  void add(const PipeWiring& wiring);
  void add(const Forward& forward);

  // One round over everything. True if there was anything to do.
  bool run_once(int64_t now_ns);
  // When the next round is due if nothing arrives.
  int64_t next_deadline_ns() const;

  // Rounds until stop() is called; sleeps when idle. Calls `stand` between two rounds when asked to stand.
  class Stand {
   public:
    virtual ~Stand() = default;
    virtual void stand() = 0;
  };
  void run(const base::Clock& clock, Stand& stand);
  void ask_to_stand();  // any thread
  void stop();          // any thread
  void wake() override;

  const WorkerStats& stats() const { return stats_; }
  const Options& options() const { return options_; }

 private:
  struct Output {
    io::Port* port = nullptr;
    unsigned count = 0;
    std::array<base::Packet*, base::kBurst> packets;
  };
  struct Lane {  // a wiring, with room to gather bursts per output
    Pipe* pipe;
    std::vector<PipeWiring::Input> inputs;
    std::array<Output*, kDevicePorts> outputs = {};
    std::function<unsigned(const base::Packet&)> steer;
    std::array<Output*, kPipes> to_pipes = {};
    std::vector<std::unique_ptr<Output>> storage;
  };

  void receive(Lane& lane, const PipeWiring::Input& input, unsigned count, int64_t now_ns);
  void receive_singly(Lane& lane, io::Capture& capture, unsigned count, bool fresh, int64_t now_ns);
  void handle(Lane& lane, std::span<base::Packet*> packets, bool fresh, int64_t now_ns);
  size_t steer(Lane& lane, std::span<base::Packet*> packets, int64_t now_ns);
  void gather(Output& output, base::Packet* packet, int64_t now_ns);
  void dispatch(Lane& lane, int64_t now_ns);
  void flush(Output& output, int64_t now_ns);
  void send(io::Port& port, std::span<base::Packet* const> packets, int64_t now_ns);
  void rest(const base::Clock& clock, int64_t now_ns);
  void watch(io::Port* port);

  Options options_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Forward> forwards_;
  std::vector<io::Port*> ports_;  // each once: those received from
  Outbox outbox_;
  std::array<base::Packet*, base::kBurst> burst_;
  std::vector<Output*> dirty_;  // outputs with gathered packets
  Sleeper sleeper_;
  bool port_waits_for_wake_ = false;
  int64_t last_busy_ns_ = 0;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> asked_{false};  // to stand or to stop: look at the two below
  std::atomic<bool> stand_asked_{false}, stop_asked_{false};
  WorkerStats stats_;
};

}  // namespace l3dml::pipeline
