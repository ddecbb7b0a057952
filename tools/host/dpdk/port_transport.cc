#include "tools/host/dpdk/port_transport.h"

#include <algorithm>
#include <array>
#include <atomic>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "dataplane/base/limits.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/ethdev_port.h"
#include "dataplane/wire/address.h"

namespace l3dml::host {
namespace {

struct IoThread {
  IoThread() {
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // ns; the default of 50 us would spoil pacing
    io::register_dpdk_thread();
  }
  ~IoThread() { io::unregister_dpdk_thread(); }
};

}  // namespace

PortTransport::PortTransport(std::unique_ptr<io::Port> port, base::PacketPool* pool,
                             const wire::MacAddress& own, const wire::MacAddress& next, int64_t spin_ns,
                             std::shared_ptr<void> keep)
    : keep_(std::move(keep)),
      port_(std::move(port)),
      pool_(pool),
      own_(own),
      next_(next),
      spin_ns_(spin_ns),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

PortTransport::~PortTransport() {
  sinks_.clear();
  if (wake_ >= 0) close(wake_);
}

absl::Status PortTransport::open(std::span<const StripeConfig> stripes) {
  if (wake_ < 0) return absl::UnavailableError("cannot make an eventfd");
  stripes_.assign(stripes.begin(), stripes.end());
  for (const StripeConfig& stripe : stripes_)
    sinks_.push_back(std::make_unique<FrameSink>(stripe, own_, next_, pool_));
  return absl::OkStatus();
}

void PortTransport::redirect(unsigned stripe, const StripeConfig& config) {
  stripes_[stripe] = config;
  sinks_[stripe]->redirect(config);
}

bool PortTransport::receive(PacketReceiver& receiver, int64_t now_ns) {
  std::array<base::Packet*, base::kBurst> packets;
  const unsigned count = port_->rx_burst(packets.data(), base::kBurst, now_ns);
  for (unsigned i = 0; i < count; ++i) {
    if (i + 2 < count) __builtin_prefetch(packets[i + 2]->data);
    ReceivedFrame frame;
    bool ours = false;
    if (read_frame(*packets[i], &frame)) {
      for (unsigned s = 0; s < stripes_.size() && !ours; ++s) {
        const StripeConfig& stripe = stripes_[s];
        ours = frame.head->l3dml.job.load() == stripe.job &&
               frame.head->ipv6.src_addr == stripe.result_source &&
               frame.head->ipv6.dst_addr == stripe.local_address &&
               frame.head->udp.dst_port.load() == stripe.local_port;
        if (ours)
          receiver.on_packet(s, frame.head->l3dml, frame.lanes, frame.lane_count,
                             frame.head->udp.src_port.load() & (stripe.shards - 1), frame.ce, now_ns);
      }
    }
    strays_ += !ours;
    base::release(packets[i]);
  }
  if (count) busy_ns_ = now_ns;
  return count == base::kBurst;
}

void PortTransport::flush() {
  const int64_t now = clock_.now_ns();
  for (auto& sink : sinks_) {
    if (sink->frames().empty()) continue;
    port_->tx_burst(sink->frames(), now);
    sink->clear();
    busy_ns_ = now;
  }
}

// Polls on while packets come, sleeps when they have ceased: a look at a ring is cheap, a wake-up is not.
void PortTransport::wait(int64_t deadline_ns, int64_t) {
  thread_local const IoThread prepared;
  const int64_t now = clock_.now_ns();
  deadline_ns = std::min(deadline_ns, port_->next_deadline_ns());
  if (deadline_ns <= now || now - busy_ns_ < spin_ns_) return;
  const int fd = port_->wake_fd();
  int64_t left = deadline_ns == base::kNever ? base::kNever : deadline_ns - now;
  if (fd < 0 && port_->needs_wake_fd()) left = std::min(left, io::kBlindSleep);
  if (!port_->arm()) return;
  std::array<pollfd, 2> polled = {{{wake_, POLLIN, 0}, {fd, POLLIN, 0}}};
  timespec timeout{};
  if (left != base::kNever) timeout = {left / base::kSecond, left % base::kSecond};
  ppoll(polled.data(), fd < 0 ? 1 : 2, left == base::kNever ? nullptr : &timeout, nullptr);
  uint64_t count;
  if (polled[0].revents & POLLIN && read(wake_, &count, sizeof count) < 0) return port_->disarm();
  if (polled[1].revents & POLLIN) port_->wake();
  port_->disarm();
}

void PortTransport::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);  // full: awake anyway
}

absl::StatusOr<std::unique_ptr<PortTransport>> open_dpdk_transport(const DpdkOptions& options) {
  static std::atomic<unsigned> count{0};
  io::MbufPool::Config config{absl::StrCat("host", count++), options.buffers, options.max_frame, 256};
  if (absl::Status s = io::start_eal({options.eal, io::MbufPool::memory_bytes(config)}); !s.ok()) return s;
  auto made = io::MbufPool::create(config);
  if (!made.ok()) return made.status();
  std::shared_ptr<io::MbufPool> pool = *std::move(made);
  io::EthdevConfig device;
  device.name = device.device = options.device;
  device.max_frame = options.max_frame;
  auto ports = io::EthdevPort::open(device, *pool);
  if (!ports.ok()) return ports.status();
  wire::MacAddress own = {2, 0, 0, 0, 0, 1};
  wire::parse_mac(ports->front()->device().mac, &own);
  base::PacketPool* const packets = pool.get();
  return std::make_unique<PortTransport>(std::move(ports->front()), packets, own, options.switch_mac,
                                         options.spin_ns, std::move(pool));
}

}  // namespace l3dml::host
