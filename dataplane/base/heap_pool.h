// Packets from the heap, kept on a free list: for the simulator, the memory port and tests. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "dataplane/base/packet.h"

namespace l3dml::base {

class HeapPool final : public PacketPool {
 public:
  // At most `limit` packets alive at once, each with `capacity` bytes of which `headroom` lie before data.
  explicit HeapPool(size_t limit, uint32_t capacity = 2048, uint32_t headroom = 128)
      : limit_(limit), capacity_(capacity), headroom_(headroom) {}

  Packet* alloc() override {
    if (free_.empty() && !grow()) return nullptr;
    Packet* packet = free_.back();
    free_.pop_back();
    dress(packet);
    return packet;
  }
  void recycle(Packet* packet) override { free_.push_back(packet); }
  unsigned alloc_bulk(Packet** packets, unsigned count) override {
    while (free_.size() < count && grow()) continue;
    const auto taken = static_cast<unsigned>(std::min<size_t>(count, free_.size()));
    for (unsigned i = 0; i < taken; ++i) {
      packets[i] = free_[free_.size() - 1 - i];  // the last recycled first: it is in the caches
      dress(packets[i]);
    }
    free_.resize(free_.size() - taken);
    return taken;
  }
  void recycle_bulk(Packet* const* packets, unsigned count) override {
    free_.insert(free_.end(), packets, packets + count);
  }

  size_t alive() const { return packets_.size() - free_.size(); }  // packets that somebody holds

 private:
  void dress(Packet* packet) const {
    uint8_t* const buffer = packet->buffer;
    *packet = Packet{};
    packet->buffer = buffer;
    packet->capacity = capacity_;
    packet->data = buffer + headroom_;
    packet->pool = const_cast<HeapPool*>(this);
  }
  bool grow() {
    if (packets_.size() >= limit_) return false;
    packets_.push_back(std::make_unique<Packet>());
    memory_.push_back(std::make_unique<uint8_t[]>(capacity_));
    packets_.back()->buffer = memory_.back().get();
    free_.push_back(packets_.back().get());
    return true;
  }

  size_t limit_;       // packets
  uint32_t capacity_;  // bytes
  uint32_t headroom_;  // bytes
  std::vector<std::unique_ptr<Packet>> packets_;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<Packet*> free_;
};

}  // namespace l3dml::base
