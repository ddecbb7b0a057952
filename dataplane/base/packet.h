// A frame inside the switch, independent of where its memory comes from (DPDK mbuf, heap, simulator).
//
// A frame is `data[0, size)`, followed by the bytes of `tail` if there is one. The tail is how replicas share
// lanes: each child gets a small head of its own, all heads point to one reference-counted tail.
// One thread owns a packet; packets move between threads only whole (tail unshared or refs held by one
// thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace l3dml::base {

class PacketPool;

// One cache line, so that looking at a packet costs one.
struct alignas(64) Packet {
  uint8_t* data = nullptr;  // first byte of the frame (of the shared bytes, for a tail)
  uint32_t size = 0;        // bytes at data
  uint32_t capacity = 0;    // bytes at buffer
  uint16_t port = 0;        // device port it came from, then the one it leaves by
  uint16_t refs = 1;        // heads that share this tail (1 for a head)
  uint16_t sum = 0;  // ones' complement sum (RFC 1071) of the lanes: all bytes of a tail, bytes from 86 on
  bool has_sum = false;         // of a frame without tail; valid only if has_sum
  bool wants_checksum = false;  // UDP checksum still to be written by the port (head only)
  Packet* tail = nullptr;       // shared bytes that follow, or null
  uint8_t* buffer = nullptr;    // start of the memory that data points into
  int64_t time_ns = 0;          // arrival, in the device's clock
  PacketPool* pool = nullptr;   // who takes it back
  void* context = nullptr;      // the pool's own (the mbuf)

  uint32_t frame_size() const { return size + (tail ? tail->size : 0); }
};
static_assert(sizeof(Packet) == 64);

// Where packets come from and go back to. alloc() returns null when empty: the caller counts no_buffer.
class PacketPool {
 public:
  virtual ~PacketPool() = default;
  virtual Packet* alloc() = 0;  // size 0, data = buffer + headroom, refs 1, no tail
  virtual void recycle(Packet* packet) = 0;
  // The same for several at once. alloc_bulk() returns how many there were; recycle_bulk() takes packets of
  // this pool.
  virtual unsigned alloc_bulk(Packet** packets, unsigned count) {
    unsigned done = 0;
    while (done < count && (packets[done] = alloc()) != nullptr) ++done;
    return done;
  }
  virtual void recycle_bulk(Packet* const* packets, unsigned count) {
    for (unsigned i = 0; i < count; ++i) recycle(packets[i]);
  }
};

// Gives a packet back, and its tail when this was the last head that shared it.
inline void release(Packet* packet) {
  if (Packet* tail = packet->tail) {
    packet->tail = nullptr;
    if (--tail->refs == 0) tail->pool->recycle(tail);
  }
  packet->pool->recycle(packet);
}

// The same for many: neighbours of one pool go back together.
inline void release_bulk(std::span<Packet* const> packets) {
  for (size_t i = 0; i < packets.size();) {
    const size_t first = i;
    PacketPool* const pool = packets[first]->pool;
    for (; i < packets.size() && packets[i]->pool == pool; ++i) {
      Packet* const tail = packets[i]->tail;
      packets[i]->tail = nullptr;
      if (tail && --tail->refs == 0) tail->pool->recycle(tail);
    }
    pool->recycle_bulk(packets.data() + first, static_cast<unsigned>(i - first));
  }
}

}  // namespace l3dml::base
