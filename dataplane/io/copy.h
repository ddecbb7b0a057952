// Copies of packets in one piece: a duplicate on a link, a capture, a packet that changes threads.
#pragma once

#include <cstring>

#include "dataplane/base/packet.h"

namespace l3dml::io {

// Free bytes behind data[0, size).
inline uint32_t tailroom(const base::Packet& packet) {
  return packet.capacity - static_cast<uint32_t>(packet.data - packet.buffer) - packet.size;
}

// Pulls the tail into the head, so that the frame is in one piece. False, and unchanged, if it does not fit.
inline bool flatten(base::Packet& packet) {
  base::Packet* const tail = packet.tail;
  if (tail == nullptr) return true;
  if (tailroom(packet) < tail->size) return false;
  std::memcpy(packet.data + packet.size, tail->data, tail->size);
  packet.size += tail->size;
  packet.tail = nullptr;
  if (--tail->refs == 0) tail->pool->recycle(tail);
  return true;
}

// Null if the pool is empty or its buffers are too small.
inline base::Packet* copy_packet(const base::Packet& packet, base::PacketPool& pool) {
  base::Packet* const copy = pool.alloc();
  if (copy == nullptr) return nullptr;
  if (tailroom(*copy) < packet.frame_size()) {
    pool.recycle(copy);
    return nullptr;
  }
  std::memcpy(copy->data, packet.data, packet.size);
  if (packet.tail != nullptr) std::memcpy(copy->data + packet.size, packet.tail->data, packet.tail->size);
  copy->size = packet.frame_size();
  copy->port = packet.port;
  copy->wants_checksum = packet.wants_checksum;
  copy->time_ns = packet.time_ns;
  return copy;
}

}  // namespace l3dml::io
