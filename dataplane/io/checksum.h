// Internet checksum (RFC 1071) and the UDP checksum of a frame whose bytes may lie in head and tail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/base/packet.h"

namespace l3dml::io {

// Ones' complement sum of the bytes as 16-bit big-endian words (an odd last byte is the high half), folded to
// 16 bits.
uint16_t ones_sum(const uint8_t* bytes, size_t size);

// Writes the UDP checksum of an Ethernet / IPv6 / UDP frame (no extension headers, no VLAN tag; all headers
// in the head): where Packet::wants_checksum is set and no NIC does it. Uses Packet::sum of a tail that has
// one. False, and nothing written, if the frame is none of that.
bool write_udp_checksum(base::Packet& packet);

// For offload: puts the pseudo-header sum where the NIC or kernel expects it. False as above.
bool write_udp_pseudo_sum(base::Packet& packet);

}  // namespace l3dml::io
