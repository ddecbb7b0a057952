#include "dataplane/io/tap_port.h"

#include <cerrno>
#include <cstring>

#include <sys/uio.h>
#include <unistd.h>

#include "dataplane/io/checksum.h"

namespace l3dml::io {
namespace {

constexpr size_t kUdpAt = 54, kHeaders = 62, kMaxRun = 64, kMaxRunBytes = 65000;

bool is_plain_udp(const base::Packet& packet) {
  return packet.size >= kHeaders && packet.data[12] == 0x86 && packet.data[13] == 0xdd &&
         packet.data[20] == 17;
}

// Can `next` leave as a further segment of the datagram run that `first` opens?
bool continues(const base::Packet& first, const base::Packet& next, size_t run_bytes) {
  const uint32_t size = first.frame_size();
  return next.wants_checksum && next.size >= kHeaders && next.frame_size() == size &&
         run_bytes + size <= kMaxRunBytes && std::memcmp(first.data, next.data, kUdpAt + 4) == 0;
}

}  // namespace

TapPort::TapPort(const TapConfig& config, int fd, bool segments, base::PacketPool& pool)
    : Port(config.name, config.wants_checksum), fd_(fd), segments_(segments), pool_(pool) {}

TapPort::~TapPort() {
  if (fd_ >= 0) close(fd_);
}

void TapPort::close_removed() {
  close(fd_);  // leaves the worker's epoll set by itself
  fd_ = -1;
  readable_ = false;
}

bool TapPort::read_frame() {
  if (fd_ < 0 || !readable_) return false;
  iovec parts[] = {{&frame_.header(), sizeof(VirtioNetHeader)}, {frame_.bytes(), kMaxSegmentedFrame}};
  const ssize_t got = readv(fd_, parts, 2);
  if (got > static_cast<ssize_t>(sizeof(VirtioNetHeader))) {
    if (!frame_.begin(static_cast<size_t>(got) - sizeof(VirtioNetHeader))) ++stats_.rx_errors;
    return true;
  }
  readable_ = false;
  if (got < 0 && errno == EBADFD) close_removed();
  if (got < 0 && errno != EAGAIN && errno != EINTR) ++stats_.rx_errors;
  return false;
}

unsigned TapPort::rx_burst(base::Packet** packets, unsigned room, int64_t) {
  unsigned count = 0;
  while (count < room) {
    if (frame_.empty()) {
      if (!read_frame()) break;
      continue;
    }
    base::Packet* const packet = pool_.alloc();
    if (packet == nullptr) {
      frame_.clear();
      ++stats_.rx_drops;
      continue;
    }
    if (!frame_.take(*packet)) {
      ++stats_.rx_errors;
      pool_.recycle(packet);
      continue;
    }
    stats_.rx_bytes += packet->size;
    packets[count++] = packet;
  }
  stats_.rx_packets += count;
  return count;
}

void TapPort::tx_burst(std::span<base::Packet* const> packets, int64_t) {
  for (size_t begin = 0; begin < packets.size();) {
    const base::Packet& first = *packets[begin];
    size_t end = begin + 1, bytes = first.frame_size();
    if (segments_ && first.wants_checksum && is_plain_udp(first))
      for (; end < packets.size() && end - begin < kMaxRun && continues(first, *packets[end], bytes); ++end)
        bytes += first.frame_size();
    write_run(packets.subspan(begin, end - begin));
    begin = end;
  }
  for (base::Packet* packet : packets) base::release(packet);
}

// One packet, or several of one flow and size as segments of one datagram.
void TapPort::write_run(std::span<base::Packet* const> run) {
  base::Packet& first = *run.front();
  VirtioNetHeader header{};
  const size_t payload = first.frame_size() - kHeaders;
  if (run.size() > 1) {
    header.gso_type = kGsoUdp;
    header.gso_size = static_cast<uint16_t>(payload);
    header.hdr_len = kHeaders;
    const size_t udp_size = 8 + payload * run.size();
    for (uint8_t* field : {first.data + 18, first.data + kUdpAt + 4}) {
      field[0] = static_cast<uint8_t>(udp_size >> 8);
      field[1] = static_cast<uint8_t>(udp_size);
    }
  }
  if (first.wants_checksum && write_udp_pseudo_sum(first)) {  // the kernel believes it without looking
    header.flags = kNeedsChecksum;
    header.csum_start = kUdpAt;
    header.csum_offset = 6;
  }
  iovec parts[1 + 2 * kMaxRun];
  int count = 0;
  size_t bytes = 0;
  parts[count++] = {&header, sizeof header};
  for (size_t i = 0; i < run.size(); ++i) {
    const size_t skip = i == 0 ? 0 : kHeaders;  // only the first brings the headers
    if (run[i]->size > skip) parts[count++] = {run[i]->data + skip, run[i]->size - skip};
    if (const base::Packet* tail = run[i]->tail) parts[count++] = {tail->data, tail->size};
    bytes += run[i]->frame_size();
  }
  if (fd_ < 0 || writev(fd_, parts, count) < 0) {
    if (fd_ >= 0 && errno == EBADFD) close_removed();
    (fd_ >= 0 && (errno == EAGAIN || errno == ENOBUFS) ? stats_.tx_drops : stats_.tx_errors) += run.size();
    return;
  }
  stats_.tx_packets += run.size();
  stats_.tx_bytes += bytes;
}

}  // namespace l3dml::io
