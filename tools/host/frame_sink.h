// A worker core's PacketSink that makes whole frames in packets of a pool: the lanes are quantised into the
// very buffer that the port sends. For transports without a kernel below them. One thread; pool and whoever
// takes the frames outlive it.
#pragma once

#include <span>
#include <vector>

#include "tools/host/frame.h"
#include "tools/host/packet_sink.h"

namespace l3dml::host {

class FrameSink final : public PacketSink {
 public:
  FrameSink(const StripeConfig& stripe, const wire::MacAddress& own, const wire::MacAddress& next,
            base::PacketPool* pool, size_t limit = 512)
      : head_(head_of(stripe, own, next)), pool_(*pool), limit_(limit) {
    frames_.reserve(limit);
  }
  ~FrameSink() override {
    for (base::Packet* packet : frames_) base::release(packet);
    if (reserved_) base::release(reserved_);
  }
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;

  // Null when `limit` frames wait, the pool is empty, or its buffers are too small.
  uint8_t* reserve(unsigned shard, size_t size_bytes) override {
    if (frames_.size() >= limit_) return nullptr;
    if (!reserved_ && !(reserved_ = pool_.alloc())) return nullptr;
    const size_t room = reserved_->capacity - static_cast<size_t>(reserved_->data - reserved_->buffer);
    if (kBeforeDatagram + size_bytes > room) return nullptr;
    shard_ = shard;
    return reserved_->data + kBeforeDatagram;
  }
  void commit(size_t size_bytes) override {
    reserved_->size = write_head(reserved_->data, head_, shard_, size_bytes);
    frames_.push_back(reserved_);
    reserved_ = nullptr;
  }

  std::span<base::Packet* const> frames() const { return frames_; }
  void clear() { frames_.clear(); }  // after the caller has taken them
  // To another aggregator, from now on; what waits goes where it was meant to.
  void redirect(const StripeConfig& stripe) {
    head_ = head_of(stripe, head_.ethernet.src_addr, head_.ethernet.dst_addr);
  }

 private:
  wire::Head head_;
  base::PacketPool& pool_;
  size_t limit_;  // frames
  unsigned shard_ = 0;
  base::Packet* reserved_ = nullptr;
  std::vector<base::Packet*> frames_;
};

}  // namespace l3dml::host
