#include "tools/torch/testing/device_switch.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <linux/ipv6.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace l3dml::pytorch::testing {
namespace {

using pipeline::testing::kOwnLocator;
using pipeline::testing::kPrefix;
using pipeline::testing::Rig;
using pipeline::testing::RigConfig;
using pipeline::testing::Sent;

constexpr uint32_t kRing = 512;
constexpr size_t kPayload = wire::kHeadSize - wire::kL3dmlSize;  // what follows UDP begins here in a frame

RigConfig rig_config(unsigned world) {
  RigConfig c;
  c.children = world;
  c.lanes = 256;
  c.slot_base = kRing;
  c.ring = kRing;
  c.seq_ring = 1024;
  return c;
}

sockaddr_in6 at(const wire::Ipv6Address& address, unsigned port) {
  sockaddr_in6 result{};
  result.sin6_family = AF_INET6;
  result.sin6_port = htons(static_cast<uint16_t>(port));
  std::memcpy(&result.sin6_addr, address.data(), address.size());
  return result;
}

// The kernel makes a new address usable a moment after it was added; until then it cannot be bound.
int bound_socket(const wire::Ipv6Address& address, unsigned port) {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int size = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  const sockaddr_in6 local = at(address, port);
  for (int attempt = 0; attempt < 10'000; ++attempt, poll(nullptr, 0, 1)) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0) return fd;
    if (errno != EADDRNOTAVAIL) break;
  }
  throw std::system_error(errno, std::generic_category(), "cannot bind UDP port " + std::to_string(port));
}

void add_to_loopback(const wire::Ipv6Address& address) {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  in6_ifreq request{};
  std::memcpy(&request.ifr6_addr, address.data(), address.size());
  request.ifr6_prefixlen = 128;
  request.ifr6_ifindex = static_cast<int>(if_nametoindex("lo"));
  const bool added = ioctl(fd, SIOCSIFADDR, &request) == 0 || errno == EEXIST;
  const int error = errno;
  close(fd);
  if (!added) throw std::system_error(error, std::generic_category(), "cannot add an address to lo");
}

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace

DeviceSwitch::DeviceSwitch(unsigned world, double loss, uint64_t seed)
    : world_(world), loss_(loss), random_(seed), rig_(rig_config(world)) {}

DeviceSwitch::~DeviceSwitch() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  if (receiver_ >= 0) close(receiver_);
  if (sender_ >= 0) close(sender_);
}

host::StripeConfig DeviceSwitch::stripe(unsigned rank) const {
  host::StripeConfig s;
  s.job = rig_.c.job;
  s.epoch = rig_.c.epoch;
  s.child = static_cast<uint8_t>(rank);
  s.lanes = rig_.c.lanes;
  s.window = s.look_ahead = kRing / 2;
  s.first_number = rig_.c.first_number;
  s.slot_base = rig_.c.slot_base;
  s.ring = kRing;
  s.aggregator = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, s.child);
  s.result_source = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, wire::kChildSwitch);
  s.local_address = Rig::child_address(s.child);
  s.local_port = static_cast<uint16_t>(19600 + rank);
  return s;
}

void DeviceSwitch::start() {
  add_to_loopback(stripe(0).result_source);
  for (unsigned rank = 0; rank < world_; ++rank) {
    add_to_loopback(stripe(rank).aggregator);
    add_to_loopback(stripe(rank).local_address);
  }
  for (unsigned rank = 0; rank < world_; ++rank) close(bound_socket(stripe(rank).local_address, 0));
  receiver_ = bound_socket({}, base::kUdpPort);
  sender_ = bound_socket(stripe(0).result_source, base::kUdpSourcePort);
  thread_ = std::thread([this] { run(); });
}

void DeviceSwitch::receive(const uint8_t* payload, size_t size) {
  if (size < wire::kL3dmlSize || lost()) return;
  wire::L3dmlHeader header;
  std::memcpy(&header, payload, sizeof header);
  if (header.child >= world_) return;
  // The frame as the child's port would bring it.
  Rig::Build b = rig_.build(wire::Type::up, header.child, 0, {});
  b.frame.resize(kPayload + size);
  std::memcpy(b.frame.data() + kPayload, payload, size);
  const auto length = static_cast<uint16_t>(b.frame.size() - wire::kEthernetSize - wire::kIpv6Size);
  b.head().ipv6.payload_length.set(length);
  b.head().udp.length.set(length);
  send(rig_.send(b));
}

void DeviceSwitch::send(const std::vector<Sent>& sent) {
  for (const Sent& s : sent) {
    if (lost()) continue;
    const host::StripeConfig to = stripe(s.l3dml().child);
    const sockaddr_in6 address = at(to.local_address, to.local_port);
    sendto(sender_, s.frame.data() + kPayload, s.frame.size() - kPayload, 0,
           reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
}

void DeviceSwitch::run() {
  uint8_t payload[2048];
  while (!stopping_) {
    const int64_t wait_ns =
        std::min(rig_.device->pipe(0).next_deadline_ns() - now_ns(), 50 * base::kMillisecond);
    pollfd polled = {receiver_, POLLIN, 0};
    const timespec wait = {0, std::max<int64_t>(wait_ns, 0)};
    ppoll(&polled, 1, &wait, nullptr);
    rig_.now_ns = now_ns();
    for (int i = 0; i < 64; ++i) {
      const ssize_t size = recv(receiver_, payload, sizeof payload, 0);
      if (size < 0) break;
      receive(payload, static_cast<size_t>(size));
    }
    if (rig_.device->pipe(0).next_deadline_ns() <= now_ns()) send(rig_.tick(now_ns()));
  }
}

}  // namespace l3dml::pytorch::testing
