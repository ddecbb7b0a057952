#include "tools/host/udp_sender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <netinet/udp.h>
#include <sys/socket.h>

namespace l3dml::host {
namespace {

constexpr size_t kBurst = 16;  // runs per system call

}  // namespace

UdpSender::UdpSender(int socket, const sockaddr_in6& destination, unsigned shards, bool segment_offload)
    : socket_(socket), segment_offload_(segment_offload), shards_(shards) {
  for (unsigned i = 0; i < shards; ++i) {
    shards_[i].buffer = std::make_unique<uint8_t[]>(kBufferBytes);
    shards_[i].runs.reserve(kBufferBytes / 24);
    shards_[i].destination = destination;
    shards_[i].destination.sin6_port = htons(static_cast<uint16_t>(ntohs(destination.sin6_port) + i));
  }
}

uint8_t* UdpSender::reserve(unsigned shard, size_t size_bytes) {
  Shard& s = shards_[shard];
  if (s.used + size_bytes > kBufferBytes) {
    flush();
    if (s.used + size_bytes > kBufferBytes) return nullptr;
  }
  reserved_ = shard;
  return s.buffer.get() + s.used;
}

void UdpSender::commit(size_t size_bytes) {
  Shard& s = shards_[reserved_];
  const auto size = static_cast<uint16_t>(size_bytes);
  const bool joins = segment_offload_ && !s.runs.empty() && !s.runs.back().closed &&
                     size <= s.runs.back().segment && s.runs.back().count < kMostSegments;
  if (joins) {
    Run& run = s.runs.back();
    run.size += size;
    ++run.count;
    run.closed = size < run.segment;
  } else {
    s.runs.push_back({s.used, size, size, 1, false});
  }
  s.used += size;
  ++pending_;
}

bool UdpSender::flush() {
  for (Shard& s : shards_) {
    while (!s.runs.empty()) {
      if (!send_burst(s)) return false;
    }
    s.used = 0;
  }
  return true;
}

bool UdpSender::send_burst(Shard& s) {
  std::array<mmsghdr, kBurst> messages{};
  std::array<iovec, kBurst> vectors;
  struct alignas(cmsghdr) Control {
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
  };
  std::array<Control, kBurst> controls{};
  const size_t count = std::min(kBurst, s.runs.size());
  for (size_t i = 0; i < count; ++i) {
    const Run& run = s.runs[i];
    vectors[i] = {s.buffer.get() + run.offset, run.size};
    msghdr& m = messages[i].msg_hdr;
    m.msg_name = &s.destination;
    m.msg_namelen = sizeof s.destination;
    m.msg_iov = &vectors[i];
    m.msg_iovlen = 1;
    if (run.count < 2) continue;
    m.msg_control = controls[i].bytes;
    m.msg_controllen = sizeof controls[i].bytes;
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    std::memcpy(CMSG_DATA(c), &run.segment, sizeof run.segment);
  }
  int sent = sendmmsg(socket_, messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    if (s.runs[0].count > 1 && (errno == EINVAL || errno == EIO || errno == EOPNOTSUPP)) {
      segment_offload_ = false;
      split(s, 0);
      return true;
    }
    lost_ += s.runs[0].count;  // repaired like any other loss; if it lasts, the collective times out
    sent = 1;
  }
  for (int i = 0; i < sent; ++i) pending_ -= s.runs[i].count;
  s.runs.erase(s.runs.begin(), s.runs.begin() + sent);
  return true;
}

void UdpSender::split(Shard& s, size_t index) {
  const Run run = s.runs[index];
  std::vector<Run> parts;
  for (uint32_t at = 0; at < run.size; at += run.segment) {
    const auto size = static_cast<uint16_t>(std::min<uint32_t>(run.segment, run.size - at));
    parts.push_back({run.offset + at, size, size, 1, true});
  }
  s.runs.erase(s.runs.begin() + static_cast<std::ptrdiff_t>(index));
  s.runs.insert(s.runs.begin() + static_cast<std::ptrdiff_t>(index), parts.begin(), parts.end());
}

}  // namespace l3dml::host
