// A look at a frame that may be one of ours: head, lanes wherever they lie (in the head's buffer or in a
// shared tail), and the hash of the lanes that the ledger reckons with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/base/packet.h"
#include "dataplane/wire/header.h"

namespace l3dml::sim {

struct Frame {
  const wire::Head* head = nullptr;  // null: not L3DML
  const uint8_t* lanes = nullptr;
  size_t lane_count = 0;
};

inline Frame look_at(const base::Packet& packet) {
  Frame frame;
  if (packet.size < wire::kHeadSize) return frame;
  const auto* head = reinterpret_cast<const wire::Head*>(packet.data);
  if (head->ethernet.ether_type.load() != wire::kEtherTypeIpv6 ||
      head->ipv6.next_header != wire::kProtocolUdp)
    return frame;
  const bool to_switch = head->udp.dst_port.load() - base::kUdpPort < int{base::kMaxShards} &&
                         head->udp.dst_port.load() >= base::kUdpPort;
  const bool from_switch = head->udp.src_port.load() >= base::kUdpSourcePort;
  if (!to_switch && !from_switch) return frame;
  frame.head = head;
  frame.lanes = packet.tail ? packet.tail->data : packet.data + wire::kHeadSize;
  frame.lane_count = (packet.frame_size() - wire::kHeadSize) / 4;
  return frame;
}

// Linear over lanes (mod 2^32, as the switches' sums are): hash(a + b) = hash(a) + hash(b). Coefficients are
// odd, so that a difference in one lane always shows.
uint32_t lane_hash(const uint8_t* lanes, size_t count);

}  // namespace l3dml::sim
