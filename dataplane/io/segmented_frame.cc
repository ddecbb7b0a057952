#include "dataplane/io/segmented_frame.h"

#include <algorithm>
#include <cstring>

#include "dataplane/io/checksum.h"
#include "dataplane/io/copy.h"

namespace l3dml::io {
namespace {

constexpr size_t kUdpSize = 8;

uint16_t load16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
void store16(uint8_t* at, size_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
uint16_t fold(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

size_t network_at(const uint8_t* frame) { return load16(frame + 12) == 0x8100 ? 18 : 14; }

// Lengths, IPv4 id and checksum of one segment; returns the pseudo-header sum of its UDP.
uint64_t fix_network(uint8_t* frame, size_t udp_at, size_t size, unsigned index) {
  uint8_t* const ip = frame + network_at(frame);
  const auto udp_size = static_cast<uint32_t>(size - udp_at);
  constexpr uint32_t kUdp = 17;
  if (ip[0] >> 4 == 6) {
    store16(ip + 4, static_cast<size_t>(frame + size - ip) - 40);
    return uint64_t{ones_sum(ip + 8, 32)} + udp_size + kUdp;
  }
  store16(ip + 2, static_cast<size_t>(frame + size - ip));
  store16(ip + 4, load16(ip + 4) + index);
  store16(ip + 10, 0);
  store16(ip + 10, static_cast<uint16_t>(~ones_sum(ip, 4u * (ip[0] & 15))));
  return uint64_t{ones_sum(ip + 12, 8)} + udp_size + kUdp;
}

// Bytes from the start of the frame to the end of its IP header; 0: none that could carry segments.
size_t network_end(const uint8_t* frame, size_t size) {
  const size_t at = network_at(frame);
  if (size < at + 20) return 0;
  if (frame[at] >> 4 == 6) return at + 40;
  const size_t header = 4u * (frame[at] & 15);
  return frame[at] >> 4 == 4 && header >= 20 ? at + header : 0;
}

}  // namespace

bool SegmentedFrame::begin(size_t size) {
  size_ = size;
  next_ = index_ = 0;
  headers_size_ = 0;
  const size_t network = size >= 18 ? network_end(bytes_.get(), size) : 0;
  bool sound = size >= 14;
  if (header_.flags & kNeedsChecksum)
    sound = sound && header_.csum_start >= 14 && size_t{header_.csum_start} + header_.csum_offset + 2 <= size;
  if (header_.gso_type != kGsoNone) {
    headers_size_ = header_.csum_start + kUdpSize;
    next_ = headers_size_;
    sound = sound && (header_.gso_type & 0x7f) == kGsoUdp && header_.gso_size > 0 &&
            (header_.flags & kNeedsChecksum) && network != 0 && header_.csum_start >= network &&
            headers_size_ < size;
  }
  if (!sound) clear();
  return sound;
}

bool SegmentedFrame::take(base::Packet& packet) {
  const size_t payload = headers_size_ == 0 ? size_ : std::min<size_t>(header_.gso_size, size_ - next_);
  const size_t size = headers_size_ + payload;
  const bool fits = tailroom(packet) >= size;
  if (fits) {
    std::memcpy(packet.data, bytes_.get(), headers_size_);
    std::memcpy(packet.data + headers_size_, bytes_.get() + next_, payload);
    packet.size = static_cast<uint32_t>(size);
    const size_t start = header_.csum_start;
    if (headers_size_ != 0) {
      const uint64_t pseudo = fix_network(packet.data, start, size, index_);
      store16(packet.data + start + 4, size - start);
      store16(packet.data + start + 6, fold(pseudo));
    }
    if (header_.flags & kNeedsChecksum) {  // the field holds the pseudo-header sum, so one sum does it
      uint8_t* const field = packet.data + start + header_.csum_offset;
      const auto checksum = static_cast<uint16_t>(~ones_sum(packet.data + start, size - start));
      store16(field, checksum == 0 ? 0xffff : checksum);
    }
  }
  next_ += payload;
  ++index_;
  return fits;
}

}  // namespace l3dml::io
