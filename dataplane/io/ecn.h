// Explicit congestion notification (RFC 3168) on a frame: sets CE on IPv4 and IPv6 packets that allow it.
#pragma once

#include "dataplane/base/packet.h"

namespace l3dml::io {

// True if the packet was ECN-capable and is now marked. The IPv4 header checksum follows (RFC 1624).
bool mark_congestion(base::Packet& packet);

}  // namespace l3dml::io
