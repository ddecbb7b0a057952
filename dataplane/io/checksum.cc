#include "dataplane/io/checksum.h"

#include <cstring>

namespace l3dml::io {
namespace {

constexpr uint32_t kIpv6At = 14, kUdpAt = kIpv6At + 40, kPayloadAt = kUdpAt + 8, kChecksumAt = kUdpAt + 6;
constexpr uint8_t kUdp = 17;

uint32_t load16(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 8 | at[1]); }
uint16_t fold(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
void store16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

bool is_plain_udp(const base::Packet& packet) {
  return packet.size >= kPayloadAt && load16(packet.data + 12) == 0x86dd && packet.data[kIpv6At + 6] == kUdp;
}

uint64_t pseudo_sum(const base::Packet& packet) {
  return uint64_t{ones_sum(packet.data + kIpv6At + 8, 32)} + load16(packet.data + kUdpAt + 4) + kUdp;
}

}  // namespace

uint16_t ones_sum(const uint8_t* bytes, size_t size) {
  // Words are summed in host order, 8 bytes at a time with end-around carry; the order is put right at the
  // end, since swapping all words swaps the sum.
  uint64_t sum = 0;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    sum += word;
    sum += sum < word;
  }
  uint64_t rest = 0;
  if (size != 0) std::memcpy(&rest, bytes, size);
  sum += rest;
  sum += sum < rest;
  const uint16_t folded = fold((sum >> 32) + (sum & 0xffffffff));
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(folded) : folded;
}

bool write_udp_checksum(base::Packet& packet) {
  if (!is_plain_udp(packet)) return false;
  store16(packet.data + kChecksumAt, 0);
  const uint32_t head_size = packet.size - kUdpAt;
  uint64_t sum = pseudo_sum(packet) + ones_sum(packet.data + kUdpAt, head_size);
  if (const base::Packet* tail = packet.tail) {
    uint16_t tail_sum = tail->has_sum ? fold(tail->sum) : ones_sum(tail->data, tail->size);
    if (head_size & 1) tail_sum = __builtin_bswap16(tail_sum);  // the tail starts in the middle of a word
    sum += tail_sum;
  }
  const auto checksum = static_cast<uint16_t>(~fold(sum));
  store16(packet.data + kChecksumAt, checksum == 0 ? 0xffff : checksum);  // 0 would say "none"
  return true;
}

bool write_udp_pseudo_sum(base::Packet& packet) {
  if (!is_plain_udp(packet)) return false;
  store16(packet.data + kChecksumAt, fold(pseudo_sum(packet)));
  return true;
}

}  // namespace l3dml::io
