// A frame as the kernel hands it over a tap with a virtio header: perhaps without checksum, perhaps many UDP
// segments in one. It comes out as ordinary packets with real checksums. Sans-I/O: the buffer is filled by
// the caller.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/base/packet.h"

namespace l3dml::io {

// linux/virtio_net.h is no C++ (a member is called `class`) and Debian 12's lacks UDP segmentation: own
// names.
struct VirtioNetHeader {
  uint8_t flags;     // kNeedsChecksum
  uint8_t gso_type;  // kGsoNone, kGsoUdp
  uint16_t hdr_len;
  uint16_t gso_size;     // payload bytes of each segment
  uint16_t csum_start;   // where to start summing
  uint16_t csum_offset;  // from there, where the checksum goes; it holds the pseudo-header sum
};
static_assert(sizeof(VirtioNetHeader) == 10);
constexpr uint8_t kNeedsChecksum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
constexpr uint8_t kGsoNone = 0, kGsoTcp6 = 4;
constexpr uint8_t kGsoUdp = 5;                        // VIRTIO_NET_HDR_GSO_UDP_L4
constexpr unsigned kTunUso4 = 0x20, kTunUso6 = 0x40;  // TUN_F_USO4, TUN_F_USO6
constexpr size_t kMaxSegmentedFrame = 65536 + 128;    // bytes

class SegmentedFrame {
 public:
  SegmentedFrame() : bytes_(new uint8_t[kMaxSegmentedFrame]) {}

  // Fill these two, then call begin(). False: the headers contradict each other, the frame is dropped.
  VirtioNetHeader& header() { return header_; }
  uint8_t* bytes() { return bytes_.get(); }
  bool begin(size_t size);

  bool empty() const { return next_ >= size_; }
  // The next packet, written into an empty one of the pool's; null if the frame does not fit into it (it is
  // skipped then).
  bool take(base::Packet& packet);
  void clear() { size_ = next_ = 0; }

 private:
  VirtioNetHeader header_{};
  std::unique_ptr<uint8_t[]> bytes_;
  size_t size_ = 0;          // bytes
  size_t next_ = 0;          // first byte not handed out
  size_t headers_size_ = 0;  // bytes repeated before each segment; 0: one packet, as it is
  unsigned index_ = 0;       // of the next segment
};

}  // namespace l3dml::io
