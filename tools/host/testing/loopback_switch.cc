#include "tools/host/testing/loopback_switch.h"

#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/base/limits.h"

namespace l3dml::host::testing {
namespace {

void write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

sockaddr_in6 at(const wire::Ipv6Address& address, unsigned port) {
  sockaddr_in6 result{};
  result.sin6_family = AF_INET6;
  result.sin6_port = htons(static_cast<uint16_t>(port));
  std::memcpy(&result.sin6_addr, address.data(), address.size());
  return result;
}

// A new address can be used when the kernel's own thread has looked at it: until then bind() refuses it.
bool usable(const wire::Ipv6Address& address) {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  const sockaddr_in6 local = at(address, 0);
  bool bound = false;
  for (int attempt = 0; !bound && attempt < 10'000; ++attempt) {
    bound = bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0;
    if (!bound) poll(nullptr, 0, 1);
  }
  close(fd);
  return bound;
}

bool add_address(const wire::Ipv6Address& address) {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  in6_ifreq request{};
  std::memcpy(&request.ifr6_addr, address.data(), address.size());
  request.ifr6_prefixlen = 128;
  request.ifr6_ifindex = static_cast<int>(if_nametoindex("lo"));
  const bool added = ioctl(fd, SIOCSIFADDR, &request) == 0 || errno == EEXIST;
  close(fd);
  return added && usable(address);
}

int bound_socket(const wire::Ipv6Address& address, unsigned port) {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  const int size = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  const sockaddr_in6 local = at(address, port);
  // The kernel makes a new address usable a moment after it was added; until then it cannot be bound.
  for (int attempt = 0; attempt < 10'000; ++attempt, poll(nullptr, 0, 1)) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0) return fd;
    if (errno != EADDRNOTAVAIL) break;
  }
  close(fd);
  return -1;
}

}  // namespace

bool enter_private_network() {
  static const bool entered = [] {
    const uid_t uid = getuid();
    if (unshare(CLONE_NEWNET) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
      write_file("/proc/self/setgroups", "deny");
      write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    }
    const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return up;
  }();
  return entered;
}

LoopbackSwitch::LoopbackSwitch(const std::vector<StripeConfig>& stripes, double loss, uint64_t seed)
    : stripes_(stripes), loss_(loss), random_(seed) {
  const StripeConfig& first = stripes_.front();
  aggregator_ =
      std::make_unique<FakeAggregator>(first, static_cast<unsigned>(stripes.size()),
                                       [this](unsigned child, const Datagram& p) { send(child, p); });
  ok_ = add_address(first.result_source);
  for (const StripeConfig& s : stripes_)
    ok_ = ok_ && add_address(s.aggregator) && add_address(s.local_address);
  for (const StripeConfig& s : stripes_) close(bound_socket(s.local_address, 0));  // usable from here on
  for (unsigned shard = 0; shard < first.shards; ++shard) {
    receivers_.push_back(bound_socket({}, base::kUdpPort + shard));
    senders_.push_back(bound_socket(first.result_source, base::kUdpSourcePort + shard));
    ok_ = ok_ && receivers_.back() >= 0 && senders_.back() >= 0;
  }
  if (ok_) thread_ = std::thread([this] { run(); });
}

LoopbackSwitch::~LoopbackSwitch() {
  stop();
  for (const int fd : receivers_) close(fd);
  for (const int fd : senders_) close(fd);
}

void LoopbackSwitch::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void LoopbackSwitch::send(unsigned child, const Datagram& packet) {
  if (std::uniform_real_distribution<double>(0, 1)(random_) < loss_) return;
  const sockaddr_in6 to = at(stripes_[child].local_address, stripes_[child].local_port);
  sendto(senders_[packet.shard], packet.bytes.data(), packet.bytes.size(), 0,
         reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

void LoopbackSwitch::run() {
  std::vector<pollfd> polled;
  for (const int fd : receivers_) polled.push_back({fd, POLLIN, 0});
  int syncs_left = 0;
  while (!stopping_) {
    if (poll(polled.data(), polled.size(), syncs_left ? 1 : 10) == 0 && syncs_left) {
      --syncs_left;
      aggregator_->send_syncs();
    }
    for (unsigned shard = 0; shard < polled.size(); ++shard) {
      Datagram packet;
      packet.shard = shard;
      packet.bytes.resize(2048);
      ssize_t size;
      while ((size = recv(polled[shard].fd, packet.bytes.data(), packet.bytes.size(), 0)) >
             static_cast<ssize_t>(wire::kL3dmlSize) - 1) {
        packet.bytes.resize(static_cast<size_t>(size));
        if (std::uniform_real_distribution<double>(0, 1)(random_) >= loss_) aggregator_->receive(packet);
        packet.bytes.resize(2048);
        syncs_left = 3;
      }
    }
  }
}

}  // namespace l3dml::host::testing
