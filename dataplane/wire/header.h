// The wire format of DESIGN section 4, as structs of big-endian fields that can be laid over a packet.
// p4/headers.p4 says the same in P4; the contract test compares names, widths and offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/endian.h"

namespace l3dml::wire {

using base::be16_t;
using base::be32_t;
using base::be64_t;

using MacAddress = std::array<uint8_t, 6>;
using Ipv6Address = std::array<uint8_t, 16>;

struct EthernetHeader {
  MacAddress dst_addr;
  MacAddress src_addr;
  be16_t ether_type;
};
constexpr uint16_t kEtherTypeIpv4 = 0x0800, kEtherTypeArp = 0x0806, kEtherTypeIpv6 = 0x86dd;

struct Ipv6Header {
  be32_t version_class_flow;  // version 4, traffic class 8, flow label 20
  be16_t payload_length;      // bytes after this header
  uint8_t next_header;
  uint8_t hop_limit;
  Ipv6Address src_addr;
  Ipv6Address dst_addr;
};
constexpr uint8_t kProtocolUdp = 17, kProtocolIcmp = 1, kProtocolIcmpv6 = 58, kProtocolTcp = 6;

struct UdpHeader {
  be16_t src_port;
  be16_t dst_port;
  be16_t length;  // bytes, this header included
  be16_t checksum;
};

enum class Type : uint8_t { up = 1, down = 2, nack = 3, sync = 4, recirculated = 5, probe = 6 };

constexpr uint8_t kVersion = 1;
constexpr uint8_t kFlagRetx = 1;  // an UP that was sent before
constexpr uint8_t kFlagDown = 4;  // NACK, SYNC, PROBE: the segment spoken of leads down
constexpr uint8_t kFlagEce = 8;   // congestion seen on the way
constexpr uint8_t kKnownFlags = kFlagRetx | kFlagDown | kFlagEce;

constexpr uint8_t kExpOverflow = 255;   // exp_max / next_exp: a lane did not fit, or exponents differed
constexpr uint8_t kExpNonFinite = 254;  // an input was not finite

struct L3dmlHeader {
  uint8_t version_type;  // version 4, type 4
  uint8_t flags;
  be16_t job;
  uint8_t epoch;
  uint8_t child;  // sender's index at the parent (up), receiver's index (down)
  be16_t tag;     // echoed in the answer to a PROBE
  be32_t slot;    // the receiver's absolute ring entry
  be32_t number;  // NACK: one past the last missing seq
  uint8_t exp;
  uint8_t next_exp;
  be16_t weight;
  be32_t seq;  // NACK: first missing; SYNC: next that will be used

  Type type() const { return static_cast<Type>(version_type & 15); }
  uint8_t version() const { return version_type >> 4; }
  void set_type(Type type) {
    version_type = static_cast<uint8_t>(kVersion << 4 | static_cast<uint8_t>(type));
  }
};

constexpr size_t kEthernetSize = 14, kIpv6Size = 40, kUdpSize = 8, kL3dmlSize = 24;
constexpr size_t kHeadSize =
    kEthernetSize + kIpv6Size + kUdpSize + kL3dmlSize;  // 86: everything before the lanes
static_assert(sizeof(EthernetHeader) == kEthernetSize && sizeof(Ipv6Header) == kIpv6Size);
static_assert(sizeof(UdpHeader) == kUdpSize && sizeof(L3dmlHeader) == kL3dmlSize);

// The whole head of a gradient packet.
struct Head {
  EthernetHeader ethernet;
  Ipv6Header ipv6;
  UdpHeader udp;
  L3dmlHeader l3dml;
};
static_assert(sizeof(Head) == kHeadSize);

}  // namespace l3dml::wire
