// Packets from one worker to a port of another: a ring with one writer and one reader. The writer sees a port
// to send to, the reader one to receive from; it forwards what comes to the real port (or into its pipe).
//
// Threads: tx_burst() on the writer's, the rest on the reader's. Packets cross whole: a shared tail is copied
// in.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <string>

#include "dataplane/io/copy.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

class Crossing final : public Port {
 public:
  // `reader` is woken when packets come while it sleeps.
  Crossing(std::string name, Wakeable& reader, size_t capacity = 4096)
      : Port(std::move(name)),
        reader_(reader),
        size_(std::bit_ceil(capacity)),
        ring_(new base::Packet*[size_]) {}
  ~Crossing() override {
    for (size_t i = taken_.load(); i != put_.load(); ++i) base::release(ring_[i & (size_ - 1)]);
  }

  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    size_t put = put_.load(std::memory_order_relaxed);
    const size_t room = size_ - (put - taken_.load(std::memory_order_acquire));
    size_t count = 0;
    for (base::Packet* packet : packets) {
      if (count == room || !flatten(*packet)) {
        ++stats_.tx_drops;
        base::release(packet);
        continue;
      }
      stats_.tx_bytes += packet->size;
      ring_[(put + count++) & (size_ - 1)] = packet;
    }
    stats_.tx_packets += count;
    put_.store(put + count, std::memory_order_release);
    if (count != 0) reader_.wake();
  }
  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t) override {
    const size_t taken = taken_.load(std::memory_order_relaxed);
    const size_t waiting = put_.load(std::memory_order_acquire) - taken;
    const auto count = static_cast<unsigned>(std::min<size_t>(room, waiting));
    for (unsigned i = 0; i < count; ++i) packets[i] = ring_[(taken + i) & (size_ - 1)];
    taken_.store(taken + count, std::memory_order_release);
    return count;
  }
  int64_t next_deadline_ns() const override {
    return taken_.load(std::memory_order_relaxed) == put_.load(std::memory_order_acquire) ? base::kNever : 0;
  }
  bool needs_wake_fd() const override { return false; }
  PortStats stats() const override { return stats_; }

 private:
  Wakeable& reader_;
  size_t size_;  // a power of two
  std::unique_ptr<base::Packet*[]> ring_;
  alignas(64) std::atomic<size_t> put_{0};
  PortStats stats_;  // the writer's
  alignas(64) std::atomic<size_t> taken_{0};
};

}  // namespace l3dml::io
