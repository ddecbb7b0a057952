#include "dataplane/io/mac_port.h"

#include <algorithm>
#include <array>

#include "dataplane/base/limits.h"
#include "dataplane/io/crossing.h"

namespace l3dml::io {

MacPort::MacPort(std::unique_ptr<Port> real, Link* line, Wakeable& receiver, bool one_worker)
    : Port(real->name(), real->wants_checksum()),
      real_(std::move(real)),
      line_(line),
      receiver_(receiver),
      one_worker_(one_worker) {}

MacPort::~MacPort() = default;

void MacPort::set(const MacSettings& settings) {
  settings_ = settings;
  if (settings.loopback == Loopback::near && loop_ == nullptr)
    loop_ = std::make_unique<Crossing>(name() + " looped back", receiver_);
  if (settings.loopback == Loopback::near || loop_ == nullptr) return;
  base::Packet* left = nullptr;  // nobody is going to take it
  while (loop_->rx_burst(&left, 1, 0) != 0) base::release(left);
}

// Drops what the port may not receive, counts the rest; returns how many are left, at the front.
unsigned MacPort::admit(base::Packet** packets, unsigned count) {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    base::Packet* const packet = packets[i];
    if (settings_.receive && packet->frame_size() + kCheckSequence <= settings_.rx_limit_bytes) {
      rx_.count(*packet);
      packets[kept++] = packet;
      continue;
    }
    ++(settings_.receive ? rx_.oversized : rx_.disabled);
    base::release(packet);
  }
  return kept;
}

unsigned MacPort::rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) {
  if (shaper_ != nullptr) drain(now_ns);
  // The real port is looked at in any case: it has its own chores, and a host must not find its queue full.
  unsigned count = real_->rx_burst(packets, room, now_ns);
  if (settings_.loopback == Loopback::none) [[likely]]
    return admit(packets, count);
  if (settings_.loopback == Loopback::far && settings_.receive && settings_.transmit) {
    real_->tx_burst({packets, count}, now_ns);
    return 0;
  }
  for (unsigned i = 0; i < count; ++i) base::release(packets[i]);
  rx_.disabled += count;
  count = loop_ == nullptr ? 0 : loop_->rx_burst(packets, room, now_ns);
  return admit(packets, count);
}

void MacPort::tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) {
  std::array<base::Packet*, base::kBurst> kept;
  while (!packets.empty()) {
    const auto part = packets.first(std::min<size_t>(packets.size(), base::kBurst));
    packets = packets.subspan(part.size());
    size_t count = 0;
    for (base::Packet* packet : part) {
      const bool on = settings_.transmit && settings_.loopback != Loopback::far;
      if (on && packet->frame_size() + kCheckSequence <= settings_.tx_limit_bytes) {
        tx_.count(*packet);
        kept[count++] = packet;
        continue;
      }
      ++(on ? tx_.oversized : tx_.disabled);
      base::release(packet);
    }
    send({kept.data(), count}, now_ns);
  }
}

void MacPort::send(std::span<base::Packet* const> packets, int64_t now_ns) {
  if (settings_.loopback == Loopback::near) return loop_->tx_burst(packets, now_ns);
  if (shaper_ == nullptr) return real_->tx_burst(packets, now_ns);
  for (base::Packet* packet : packets) shaper_->offer(packet, now_ns);
  drain(now_ns);
}

void MacPort::drain(int64_t now_ns) {
  std::array<base::Packet*, base::kBurst> burst;
  for (unsigned count = base::kBurst; count == base::kBurst;) {
    count = shaper_->take(burst.data(), base::kBurst, now_ns);
    if (count != 0) real_->tx_burst({burst.data(), count}, now_ns);
  }
}

int64_t MacPort::next_deadline_ns() const {
  int64_t deadline_ns = real_->next_deadline_ns();
  if (shaper_ != nullptr) deadline_ns = std::min(deadline_ns, shaper_->next_deadline());
  if (loop_ != nullptr) deadline_ns = std::min(deadline_ns, loop_->next_deadline_ns());
  return deadline_ns;
}

void MacPort::shape(uint64_t rate_bps, int64_t now_ns) {
  if (line_ != nullptr) return line_->set_ceiling(rate_bps, now_ns);
  if (shaper_ == nullptr) {
    if (rate_bps == 0) return;
    shaper_ = std::make_unique<Link>(LinkParameters{}, 0);
  }
  shaper_->set_ceiling(rate_bps, now_ns);
}

MacPort::Queue MacPort::queue() const {
  const Link* const link = line_ != nullptr ? line_ : shaper_.get();
  if (link == nullptr) return {.drops = real_->stats().tx_drops};
  const uint64_t own = line_ != nullptr ? 0 : real_->stats().tx_drops;
  return {link->rate_bps(), link->queue_bytes(), link->counters().max_queue_bytes,
          link->counters().queue_drops + own};
}

void MacPort::reset_mark() {
  if (Link* const link = line_ != nullptr ? line_ : shaper_.get()) link->reset_mark();
}

PortStats MacPort::stats() const {
  PortStats stats = real_->stats();
  stats.rx_errors += rx_.oversized;
  stats.tx_errors += tx_.oversized;
  stats.rx_drops += rx_.disabled;
  stats.tx_drops += tx_.disabled;
  if (shaper_ != nullptr) stats.tx_drops += shaper_->counters().queue_drops;
  if (loop_ != nullptr) {
    const PortStats looped = loop_->stats();
    stats.tx_packets += looped.tx_packets;
    stats.tx_bytes += looped.tx_bytes;
    stats.tx_drops += looped.tx_drops;
  }
  return stats;
}

}  // namespace l3dml::io
