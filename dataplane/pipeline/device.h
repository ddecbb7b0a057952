// One emulated switch: pipes with their registers, the tables they share, and the twin that its driver
// programs. Sans-I/O: it is handed bursts and the time, and leaves packets in an Outbox; io/ and the
// simulator do the rest.
//
// Threads: each Pipe belongs to one thread. Everything the driver does goes through executor().run(), which
// the owner of the pipes implements (io: between two bursts of every lcore; simulator and tests: at once).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/drop_reason.h"
#include "dataplane/base/packet.h"
#include "dataplane/base/trace.h"
#include "dataplane/tna/twin.h"
#include "dataplane/wire/header.h"

namespace l3dml::pipeline {

struct DeviceConfig {
  unsigned pipes = 1;
  uint32_t slots = 16384;     // ring entries per pipe, a power of two
  uint32_t lanes = 256;       // lanes kept per slot, a multiple of 64
  uint32_t neighbors = 1024;  // (stripe, neighbour) pairs per pipe
  uint32_t shards_per_pipe =
      1;  // shards that one pipe serves: shard s belongs to pipe s % pipes, as its s / pipes
  uint32_t ring_entries = 262144;  // seq -> number entries per pipe, shared out by ring_base
  wire::MacAddress mac{};          // the switch's own link-layer address, the same on all ports
  int64_t sync_idle_ns = 200 * base::kMicrosecond;  // quiet time after which a segment sends SYNC
};

// Packets that leave, in order, with Packet::port = output port.
class Outbox {
 public:
  void send(base::Packet* packet, uint16_t port) {
    packet->port = port;
    packets_.push_back(packet);
  }
  std::span<base::Packet* const> packets() const { return packets_; }
  void clear() { packets_.clear(); }  // after the caller has taken them

 private:
  std::vector<base::Packet*> packets_;
};

class Pipe {
 public:
  virtual ~Pipe() = default;
  // Takes a burst (at most base::kBurst packets, Packet::port = device port they came from) and owns it from
  // then on.
  virtual void process(std::span<base::Packet* const> burst, int64_t now_ns, Outbox& out) = 0;
  // Work that time brings (SYNC of quiet segments). Call when next_deadline_ns() has come; earlier is
  // harmless.
  virtual void tick(int64_t now_ns, Outbox& out) = 0;
  virtual int64_t next_deadline_ns() const = 0;  // base::kNever when nothing waits
  virtual uint64_t drops(base::DropReason reason) const = 0;
};

class Device : public tna::DeviceTwin {
 public:
  // `pools[i]` serves pipe i; they and the executor must outlive the device.
  static std::unique_ptr<Device> create(const DeviceConfig& config, std::span<base::PacketPool* const> pools,
                                        tna::Executor* executor);
  virtual Pipe& pipe(unsigned index) = 0;
  virtual const DeviceConfig& config() const = 0;
  // Ports must be known and up, else packets to them are dropped as port_down. `checksum`: a host port that
  // wants real UDP checksums. Inside executor().run() once packets flow.
  virtual void set_port(uint16_t device_port, bool up, bool checksum) = 0;
  virtual uint64_t drops(base::DropReason reason) const = 0;  // summed over pipes; inside executor().run()
  // Which pipe a frame belongs to: gradients by shard, the rest by the pipe of their port.
  virtual unsigned steer(const base::Packet& packet) const = 0;
  // Traces packets for which the filter says yes (all, if empty); null switches it off. Inside
  // executor().run().
  virtual void set_trace(base::TraceSink* sink, std::function<bool(const base::Packet&)> filter) = 0;
};

// An executor for devices whose pipes run on the calling thread.
class InlineExecutor final : public tna::Executor {
 public:
  void run(const std::function<void()>& function) override { function(); }
};

}  // namespace l3dml::pipeline
