#include "tools/host/udp_transport.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/base/clock.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/address.h"
#include "fmt/format.h"
#include "tools/host/udp_sender.h"

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

namespace l3dml::host {
namespace {

constexpr size_t kReceiveBurst = 32;
constexpr size_t kMessageBytes = 64 << 10;  // what receive offload may merge
constexpr int kEcnCapable = 2, kCongestionExperienced = 3, kEcnMask = 3;

struct alignas(cmsghdr) Control {
  uint8_t bytes[CMSG_SPACE(sizeof(int)) * 2];
};

// One socket and the memory it receives into.
struct Socket {
  int fd = -1;
  std::unique_ptr<uint8_t[]> buffer;
  std::array<mmsghdr, kReceiveBurst> messages{};
  std::array<iovec, kReceiveBurst> vectors{};
  std::array<sockaddr_in6, kReceiveBurst> sources{};
  std::array<Control, kReceiveBurst> controls{};

  Socket() : buffer(new uint8_t[kReceiveBurst * kMessageBytes]) {}
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  void prepare() {
    for (size_t i = 0; i < kReceiveBurst; ++i) {
      vectors[i] = {buffer.get() + i * kMessageBytes, kMessageBytes};
      msghdr& m = messages[i].msg_hdr;
      m = {};
      m.msg_name = &sources[i];
      m.msg_namelen = sizeof sources[i];
      m.msg_iov = &vectors[i];
      m.msg_iovlen = 1;
      m.msg_control = controls[i].bytes;
      m.msg_controllen = sizeof controls[i].bytes;
    }
  }
};

absl::Status system_error(const std::string& what) {
  return absl::UnavailableError(fmt::format("{}: {}", what, std::strerror(errno)));
}

sockaddr_in6 socket_address(const wire::Ipv6Address& address, uint16_t port) {
  sockaddr_in6 result{};
  result.sin6_family = AF_INET6;
  result.sin6_port = htons(port);
  std::memcpy(&result.sin6_addr, address.data(), address.size());
  return result;
}

bool set_option(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

}  // namespace

class UdpTransport::Impl {
 public:
  explicit Impl(const UdpOptions& options)
      : options_(options), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Impl() {
    if (wake_ >= 0) close(wake_);
  }

  absl::Status open(std::span<const StripeConfig> stripes);
  void redirect(unsigned stripe, const StripeConfig& config);
  bool receive(PacketReceiver& receiver, int64_t now_ns);
  void wait(int64_t deadline_ns, int64_t quiet_ns);
  void wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);  // full: awake anyway
  }

  std::vector<std::unique_ptr<UdpSender>> senders_;  // by stripe

 private:
  absl::StatusOr<Socket*> socket_for(const StripeConfig& stripe);
  absl::Status configure(int fd);
  void deliver(const Socket& socket, size_t message, PacketReceiver& receiver, int64_t now_ns) const;

  UdpOptions options_;
  int wake_;
  std::vector<StripeConfig> stripes_;
  std::map<std::pair<wire::Ipv6Address, uint16_t>, std::unique_ptr<Socket>>
      sockets_;                 // by local address and port
  std::vector<pollfd> polled_;  // wake_, then the sockets
};

absl::Status UdpTransport::Impl::configure(int fd) {
  // Marks are asked for and read; results may come without checksum; a tail of results fits into the buffer.
  if (!set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, kEcnCapable) ||
      !set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1))
    return system_error("cannot use the IPv6 traffic class");
  if (!set_option(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1))
    return system_error("cannot accept UDP without checksum");
  set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const int size = static_cast<int>(options_.socket_buffer_bytes);
  if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, size)) set_option(fd, SOL_SOCKET, SO_RCVBUF, size);
  if (!set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, size)) set_option(fd, SOL_SOCKET, SO_SNDBUF, size);
  if (options_.segment_offload) set_option(fd, SOL_UDP, UDP_GRO, 1);  // an older kernel has none: no harm
  if (!options_.device.empty() && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options_.device.c_str(),
                                             static_cast<socklen_t>(options_.device.size())) != 0)
    return system_error("cannot bind to device " + options_.device);
  return absl::OkStatus();
}

absl::StatusOr<Socket*> UdpTransport::Impl::socket_for(const StripeConfig& stripe) {
  auto& socket = sockets_[{stripe.local_address, stripe.local_port}];
  if (socket) return socket.get();
  socket = std::make_unique<Socket>();
  socket->fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
  if (socket->fd < 0) return system_error("cannot make a UDP socket");
  if (absl::Status status = configure(socket->fd); !status.ok()) return status;
  const sockaddr_in6 local = socket_address(stripe.local_address, stripe.local_port);
  if (bind(socket->fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0)
    return system_error(fmt::format("cannot receive at [{}]:{} (local_address, local_port)",
                                    wire::format_address(stripe.local_address), stripe.local_port));
  socket->prepare();
  polled_.push_back({socket->fd, POLLIN, 0});
  return socket.get();
}

absl::Status UdpTransport::Impl::open(std::span<const StripeConfig> stripes) {
  if (wake_ < 0) return system_error("cannot make an eventfd");
  stripes_.assign(stripes.begin(), stripes.end());
  polled_ = {{wake_, POLLIN, 0}};
  for (const StripeConfig& stripe : stripes) {
    auto socket = socket_for(stripe);
    if (!socket.ok()) return socket.status();
    senders_.push_back(std::make_unique<UdpSender>((*socket)->fd,
                                                   socket_address(stripe.aggregator, base::kUdpPort),
                                                   stripe.shards, options_.segment_offload));
  }
  return absl::OkStatus();
}

void UdpTransport::Impl::redirect(unsigned stripe, const StripeConfig& config) {
  const auto socket = sockets_.find({stripes_[stripe].local_address, stripes_[stripe].local_port});
  stripes_[stripe] = config;
  // What the old one still holds is of the old epoch, which everybody refuses by now.
  senders_[stripe] =
      std::make_unique<UdpSender>(socket->second->fd, socket_address(config.aggregator, base::kUdpPort),
                                  config.shards, options_.segment_offload);
}

bool UdpTransport::Impl::receive(PacketReceiver& receiver, int64_t now_ns) {
  bool more = false;
  for (auto& [key, socket] : sockets_) {
    const int got = recvmmsg(socket->fd, socket->messages.data(), kReceiveBurst, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < got; ++i) {
      deliver(*socket, static_cast<size_t>(i), receiver, now_ns);
      msghdr& m = socket->messages[static_cast<size_t>(i)].msg_hdr;
      m.msg_namelen = sizeof(sockaddr_in6);
      m.msg_controllen = sizeof(Control::bytes);
    }
    more |= got == static_cast<int>(kReceiveBurst);
  }
  return more;
}

void UdpTransport::Impl::deliver(const Socket& socket, size_t message, PacketReceiver& receiver,
                                 int64_t now_ns) const {
  const mmsghdr& m = socket.messages[message];
  const sockaddr_in6& source = socket.sources[message];
  size_t segment = m.msg_len;
  bool ce = false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m.msg_hdr); c; c = CMSG_NXTHDR(const_cast<msghdr*>(&m.msg_hdr), c)) {
    int value = 0;
    std::memcpy(&value, CMSG_DATA(c), sizeof value);
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
      ce = (value & kEcnMask) == kCongestionExperienced;
    if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && value > 0)
      segment = static_cast<size_t>(value);
  }
  const uint8_t* at = socket.buffer.get() + message * kMessageBytes;
  for (size_t left = m.msg_len; left >= wire::kL3dmlSize;) {
    const size_t size = std::min(segment, left);
    if (size < wire::kL3dmlSize) return;
    const auto& header = *reinterpret_cast<const wire::L3dmlHeader*>(at);
    for (unsigned i = 0; i < stripes_.size(); ++i) {
      const StripeConfig& stripe = stripes_[i];
      if (stripe.job != header.job.load() ||
          std::memcmp(&source.sin6_addr, stripe.result_source.data(), stripe.result_source.size()) != 0)
        continue;
      const size_t lane_bytes = size - wire::kL3dmlSize;
      if (lane_bytes % 4 == 0)
        receiver.on_packet(i, header, at + wire::kL3dmlSize, lane_bytes / 4,
                           ntohs(source.sin6_port) & (stripe.shards - 1), ce, now_ns);
      break;
    }
    at += size;
    left -= size;
  }
}

void UdpTransport::Impl::wait(int64_t deadline_ns, int64_t quiet_ns) {
  thread_local bool exact = false;
  if (!exact)
    exact = prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0) == 0;  // ns; the default 50 us would spoil pacing
  bool pending = false;
  for (const auto& sender : senders_) pending |= sender->pending();
  for (size_t i = 1; i < polled_.size(); ++i)
    polled_[i].events = static_cast<short>(POLLIN | (pending ? POLLOUT : 0));
  const int64_t now_ns = base::MonotonicClock().now_ns();
  // Where packets wait for room, the room wakes us, not a time that has passed.
  if (pending) deadline_ns = std::max(deadline_ns, now_ns + base::kMillisecond);
  size_t polled = polled_.size();
  if (quiet_ns && !pending) {
    deadline_ns = std::min(deadline_ns, now_ns + quiet_ns);
    polled = 1;
  }
  timespec timeout{};
  timespec* limit = nullptr;
  if (deadline_ns != base::kNever) {
    const int64_t left = std::max<int64_t>(0, deadline_ns - now_ns);
    timeout = {left / base::kSecond, left % base::kSecond};
    limit = &timeout;
  }
  if (ppoll(polled_.data(), polled, limit, nullptr) > 0 && (polled_[0].revents & POLLIN)) {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
  }
}

UdpTransport::UdpTransport(const UdpOptions& options) : impl_(std::make_unique<Impl>(options)) {}
UdpTransport::~UdpTransport() = default;
absl::Status UdpTransport::open(std::span<const StripeConfig> stripes) { return impl_->open(stripes); }
void UdpTransport::redirect(unsigned stripe, const StripeConfig& config) { impl_->redirect(stripe, config); }
bool UdpTransport::receive(PacketReceiver& receiver, int64_t now_ns) {
  return impl_->receive(receiver, now_ns);
}
PacketSink& UdpTransport::sink(unsigned stripe) { return *impl_->senders_[stripe]; }
void UdpTransport::flush() {
  for (auto& sender : impl_->senders_) sender->flush();
}
void UdpTransport::wait(int64_t deadline_ns, int64_t quiet_ns) { impl_->wait(deadline_ns, quiet_ns); }
void UdpTransport::wake() { impl_->wake(); }
int64_t UdpTransport::now_ns() { return base::MonotonicClock().now_ns(); }
bool UdpTransport::segment_offload() const {
  return !impl_->senders_.empty() && impl_->senders_.front()->segment_offload();
}

}  // namespace l3dml::host
