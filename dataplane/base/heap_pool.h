// Packets from the heap, kept on a free list: for the simulator, the memory port and tests. One thread.
#pragma once

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
    uint8_t* const buffer = packet->buffer;
    *packet = Packet{};
    packet->buffer = buffer;
    packet->capacity = capacity_;
    packet->data = buffer + headroom_;
    packet->pool = this;
    return packet;
  }
  void recycle(Packet* packet) override { free_.push_back(packet); }

  size_t alive() const { return packets_.size() - free_.size(); }  // packets that somebody holds

 private:
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
