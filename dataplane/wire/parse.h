// The parser: what a frame is, and where its parts lie. It checks lengths and fixed fields only; whether a
// gradient is meant for this switch is the forwarder's question. Mirrors p4/parsers.p4.
#pragma once

#include <cstdint>

#include "dataplane/base/drop_reason.h"
#include "dataplane/base/packet.h"
#include "dataplane/wire/header.h"

namespace l3dml::wire {

enum class Kind : uint8_t { l3dml, ipv6, ipv4, arp, other };

struct Parsed {
  Kind kind = Kind::other;
  base::DropReason error = base::DropReason::none;  // set: the frame is malformed
  bool ce = false;                                  // IPv6 congestion experienced
  uint8_t* lanes = nullptr;                         // kind l3dml: first lane, in the frame or in its tail
  uint16_t lane_count = 0;                          // lanes as the UDP length says
  uint8_t shard = 0;                                // from the UDP destination port
};

// kind is l3dml for any UDP packet to the reserved ports that is long enough to hold the header (also when it
// is only passing through); validate() checks that header.
Parsed parse(const base::Packet& packet);

// Version, type and flags of an L3DML packet sent to this switch.
base::DropReason validate(const L3dmlHeader& header);

}  // namespace l3dml::wire
