// What a MAC counts, one direction: frames by kind and by length on the wire (check sequence included), as
// $PORT_STAT names them. Written by the one worker that moves the frames; read while it stands.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "dataplane/base/packet.h"

namespace l3dml::io {

constexpr uint32_t kCheckSequence = 4;  // bytes that a frame has on the wire and we never see

struct FrameCounters {
  // Upper ends of the length classes: below 64, 64, 65-127, ... 8192-9215, 9216 and more.
  static constexpr size_t kLengths = 12;
  static constexpr size_t length_class(uint32_t wire_bytes) {
    if (wire_bytes < 64) return 0;
    if (wire_bytes == 64) return 1;
    if (wire_bytes >= 8192) return wire_bytes < 9216 ? 10 : 11;
    const auto bits = static_cast<size_t>(std::bit_width(wire_bytes));  // 7 to 13
    if (bits == 11) return wire_bytes <= 1518 ? 6 : 7;
    return bits < 11 ? bits - 5 : bits - 4;
  }

  uint64_t frames = 0, octets = 0;  // good ones; octets with check sequence
  uint64_t multicast = 0, broadcast = 0, pause = 0, vlan = 0;
  uint64_t oversized = 0;  // dropped: longer than the port's limit
  uint64_t disabled = 0;   // dropped: the port was off
  std::array<uint64_t, kLengths> lengths{};

  uint64_t unicast() const { return frames - multicast - broadcast; }

  void count(const base::Packet& packet) {
    const uint32_t wire_bytes = packet.frame_size() + kCheckSequence;
    ++frames;
    octets += wire_bytes;
    ++lengths[length_class(wire_bytes)];
    if (packet.size < 14) return;
    const uint8_t* const d = packet.data;
    if (d[0] & 1) ++((d[0] & d[1] & d[2] & d[3] & d[4] & d[5]) == 0xff ? broadcast : multicast);
    const unsigned type = unsigned{d[12]} << 8 | d[13];
    if (type == 0x8808) ++pause;
    if (type == 0x8100) ++vlan;
  }
};

}  // namespace l3dml::io
