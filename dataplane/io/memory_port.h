// A port in memory, for tests and for recirculation: what is injected is received, what is sent is collected.
// With `loop`, what is sent is received by the same port: the recirculation port of a pipe.
#pragma once

#include <string>

#include "dataplane/io/fifo.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

class MemoryPort final : public Port {
 public:
  enum class Kind : uint8_t { ends, loop };
  explicit MemoryPort(std::string name, Kind kind = Kind::ends, size_t limit = 4096,
                      bool wants_checksum = false)
      : Port(std::move(name), wants_checksum), kind_(kind), limit_(limit) {}
  ~MemoryPort() override {
    while (!received_.empty()) base::release(received_.pop());
    while (!sent_.empty()) base::release(sent_.pop());
  }

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t) override {
    unsigned count = 0;
    for (; count < room && !received_.empty(); ++count) {
      packets[count] = received_.pop();
      stats_.rx_bytes += packets[count]->frame_size();
    }
    stats_.rx_packets += count;
    return count;
  }
  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    for (base::Packet* packet : packets) {
      Fifo<base::Packet*>& queue = kind_ == Kind::loop ? received_ : sent_;
      if (queue.size() >= limit_) {
        ++stats_.tx_drops;
        base::release(packet);
        continue;
      }
      ++stats_.tx_packets;
      stats_.tx_bytes += packet->frame_size();
      queue.push(packet);
    }
  }
  PortStats stats() const override { return stats_; }
  int64_t next_deadline_ns() const override { return received_.empty() ? base::kNever : 0; }
  bool needs_wake_fd() const override { return false; }

  void inject(base::Packet* packet) { received_.push(packet); }
  base::Packet* take_sent() { return sent_.empty() ? nullptr : sent_.pop(); }  // the caller releases it
  size_t sent_count() const { return sent_.size(); }

 private:
  Kind kind_;
  size_t limit_;  // packets in the queue
  Fifo<base::Packet*> received_, sent_;
  PortStats stats_;
};

}  // namespace l3dml::io
