#include "dataplane/io/ecn.h"

namespace l3dml::io {
namespace {

constexpr uint32_t kEthernet = 14, kVlanTag = 4;

uint16_t load16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

void store16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

}  // namespace

bool mark_congestion(base::Packet& packet) {
  uint32_t offset = kEthernet;
  if (packet.size < offset + 20) return false;
  uint16_t ether_type = load16(packet.data + 12);
  if (ether_type == 0x8100) {
    ether_type = load16(packet.data + 16);
    offset += kVlanTag;
    if (packet.size < offset + 20) return false;
  }
  uint8_t* const ip = packet.data + offset;
  if (ether_type ==
      0x86dd) {  // traffic class: low nibble of byte 0, high nibble of byte 1; ECN is its low bits
    if ((ip[1] & 0x30) == 0) return false;
    ip[1] |= 0x30;
    return true;
  }
  if (ether_type != 0x0800 || (ip[1] & 3) == 0) return false;
  const uint16_t before = load16(ip);
  ip[1] |= 3;
  uint32_t sum = static_cast<uint16_t>(~load16(ip + 10)) + static_cast<uint16_t>(~before) + load16(ip);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  store16(ip + 10, static_cast<uint16_t>(~sum));
  return true;
}

}  // namespace l3dml::io
