// A worker's datagrams as whole frames, for transports that have no kernel below them: the DPDK transport and
// the traffic generator. What follows UDP is the worker core's; what is before it is made here.
#pragma once

#include <cstdint>
#include <cstring>

#include "dataplane/base/limits.h"
#include "dataplane/base/packet.h"
#include "dataplane/wire/header.h"
#include "tools/host/job_config.h"

namespace l3dml::host {

constexpr size_t kBeforeDatagram = wire::kHeadSize - wire::kL3dmlSize;  // Ethernet, IPv6, UDP

// Everything before the datagram to shard 0 of the stripe's aggregator. Its two lengths are written per
// frame. UDP checksum 0: no kernel's offload is on the way, switches ignore it on gradients.
inline wire::Head head_of(const StripeConfig& stripe, const wire::MacAddress& own,
                          const wire::MacAddress& next) {
  constexpr uint32_t kVersion6 = 6u << 28, kEcnCapable = 2u << 20;
  wire::Head head{};
  head.ethernet = {next, own, wire::be16_t(wire::kEtherTypeIpv6)};
  head.ipv6.version_class_flow.set(kVersion6 | kEcnCapable);
  head.ipv6.next_header = wire::kProtocolUdp;
  head.ipv6.hop_limit = 64;
  head.ipv6.src_addr = stripe.local_address;
  head.ipv6.dst_addr = stripe.aggregator;
  head.udp.src_port.set(stripe.local_port);
  head.udp.dst_port.set(base::kUdpPort);
  return head;
}

// Writes the head in front of the datagram that lies at frame + kBeforeDatagram; returns the frame's size.
inline uint32_t write_head(uint8_t* frame, const wire::Head& head, unsigned shard, size_t datagram_size) {
  std::memcpy(frame, &head, kBeforeDatagram);
  auto& written = *reinterpret_cast<wire::Head*>(frame);
  const wire::be16_t length(static_cast<uint16_t>(wire::kUdpSize + datagram_size));
  written.ipv6.payload_length = written.udp.length = length;
  written.udp.dst_port.set(static_cast<uint16_t>(base::kUdpPort + shard));
  return static_cast<uint32_t>(kBeforeDatagram + datagram_size);
}

struct ReceivedFrame {
  const wire::Head* head = nullptr;
  const uint8_t* lanes = nullptr;
  size_t lane_count = 0;
  bool ce = false;
};

// False: not an L3DML datagram over plain IPv6, or cut short. The frame is in one piece. Whose it is, and
// what is in it, is the caller's question.
inline bool read_frame(const base::Packet& packet, ReceivedFrame* frame) {
  if (packet.size < wire::kHeadSize || packet.tail != nullptr) return false;
  const auto& head = *reinterpret_cast<const wire::Head*>(packet.data);
  const uint32_t first = head.ipv6.version_class_flow.load();
  const size_t length = head.udp.length.load();
  if (head.ethernet.ether_type.load() != wire::kEtherTypeIpv6 || first >> 28 != 6 ||
      head.ipv6.next_header != wire::kProtocolUdp || head.ipv6.payload_length.load() != length ||
      length < wire::kUdpSize + wire::kL3dmlSize ||
      length > packet.size - wire::kEthernetSize - wire::kIpv6Size || length % 4 != 0)
    return false;
  frame->head = &head;
  frame->lanes = packet.data + wire::kHeadSize;
  frame->lane_count = (length - wire::kUdpSize - wire::kL3dmlSize) / 4;
  frame->ce = (first >> 20 & 3) == 3;
  return true;
}

}  // namespace l3dml::host
