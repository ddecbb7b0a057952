#include "dataplane/wire/parse.h"

#include "dataplane/base/limits.h"

namespace l3dml::wire {
namespace {

using base::DropReason;

uint16_t ipv4_checksum(const uint8_t* header, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i < size; i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

Parsed failed(DropReason reason) {
  Parsed parsed;
  parsed.error = reason;
  return parsed;
}

Parsed parse_ipv4(const base::Packet& packet) {
  constexpr size_t kMinimum = 20;
  if (packet.size < kEthernetSize + kMinimum) return failed(DropReason::truncated);
  const uint8_t* ip = packet.data + kEthernetSize;
  const size_t header = (ip[0] & 15) * 4u;
  if (ip[0] >> 4 != 4 || header < kMinimum || packet.size < kEthernetSize + header)
    return failed(DropReason::bad_ipv4_header);
  const size_t total = static_cast<size_t>(ip[2] << 8 | ip[3]);
  if (total < header || total > packet.frame_size() - kEthernetSize) return failed(DropReason::truncated);
  if (ipv4_checksum(ip, header) != 0) return failed(DropReason::bad_ipv4_header);
  Parsed parsed;
  parsed.kind = Kind::ipv4;
  return parsed;
}

Parsed parse_ipv6(const base::Packet& packet) {
  if (packet.size < kEthernetSize + kIpv6Size) return failed(DropReason::truncated);
  const Head& head = *reinterpret_cast<const Head*>(packet.data);
  const uint32_t first = head.ipv6.version_class_flow.load();
  if (first >> 28 != 6) return failed(DropReason::bad_ipv6_header);
  const size_t payload = head.ipv6.payload_length.load();
  if (payload > packet.frame_size() - kEthernetSize - kIpv6Size) return failed(DropReason::truncated);
  Parsed parsed;
  parsed.kind = Kind::ipv6;
  parsed.ce = (first >> 20 & 3) == 3;
  if (head.ipv6.next_header != kProtocolUdp || payload < kUdpSize + kL3dmlSize || packet.size < kHeadSize)
    return parsed;
  const unsigned shard = head.udp.dst_port.load() - base::kUdpPort;
  if (shard >= base::kMaxShards) return parsed;
  if (head.udp.length.load() != payload || (payload - kUdpSize - kL3dmlSize) % 4 != 0) {
    parsed.error = DropReason::bad_udp_length;
    return parsed;
  }
  parsed.kind = Kind::l3dml;
  parsed.shard = static_cast<uint8_t>(shard);
  parsed.lane_count = static_cast<uint16_t>((payload - kUdpSize - kL3dmlSize) / 4);
  parsed.lanes = packet.data + kHeadSize;
  if (packet.tail) {  // lanes lie either whole in the frame or whole in the tail
    if (packet.size == kHeadSize) {
      parsed.lanes = packet.tail->data;
    } else if (packet.size < kHeadSize + size_t{parsed.lane_count} * 4) {
      parsed.error = DropReason::truncated;
    }
  }
  return parsed;
}

}  // namespace

Parsed parse(const base::Packet& packet) {
  if (packet.size < kEthernetSize) return failed(DropReason::truncated);
  const auto& ethernet = *reinterpret_cast<const EthernetHeader*>(packet.data);
  switch (ethernet.ether_type.load()) {
    case kEtherTypeIpv6:
      return parse_ipv6(packet);
    case kEtherTypeIpv4:
      return parse_ipv4(packet);
    case kEtherTypeArp: {
      if (packet.size < kEthernetSize + 28) return failed(DropReason::truncated);
      Parsed parsed;
      parsed.kind = Kind::arp;
      return parsed;
    }
    default:
      return failed(DropReason::unsupported_ethertype);
  }
}

base::DropReason validate(const L3dmlHeader& header) {
  if (header.version() != kVersion) return DropReason::unknown_version;
  uint8_t allowed = 0;
  switch (header.type()) {
    case Type::up:
      allowed = kFlagRetx | kFlagEce;
      break;
    case Type::down:
      allowed = kFlagEce;
      break;
    case Type::nack:
    case Type::sync:
      allowed = kFlagDown;
      break;
    case Type::probe:
      break;  // its answer, with DOWN, goes to workers only
    case Type::recirculated:
      return DropReason::recirculated_type;
    default:
      return DropReason::unknown_type;
  }
  return (header.flags & ~allowed) != 0 ? DropReason::unknown_flag : DropReason::none;
}

}  // namespace l3dml::wire
