#include "tools/sim/modes/tcp_flow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dataplane/wire/header.h"
#include "tools/sim/addresses.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr double kFall = 0.7, kCubic = 0.4;  // RFC 9438
constexpr uint32_t kReordering = 3;          // packets
constexpr int64_t kLeastTimeoutNs = 200 * base::kMillisecond;
constexpr size_t kBeforeHeader = wire::kEthernetSize + wire::kIpv6Size;

}  // namespace

void TcpFlow::start_at(int64_t at_ns) {
  world_.network().call_at(at_ns, [this] { send_what_fits(); });
}

void TcpFlow::transmit(uint32_t host, const Header& header, uint32_t payload) {
  Network& network = world_.network();
  base::Packet* packet = network.pool().alloc();
  if (!packet) return;
  std::memset(packet->data, 0, kHeaders + payload);
  const uint32_t other = host == from_ ? to_ : from_, device = network.host_device(host);
  wire::EthernetHeader ethernet{device_mac(device), host_mac(host), wire::be16_t(wire::kEtherTypeIpv6)};
  const uint32_t ect = ecn_ && payload ? 2u << 20 : 0;
  wire::Ipv6Header ip{
      wire::be32_t(6u << 28 | ect), wire::be16_t(static_cast<uint16_t>(kHeaders - kBeforeHeader + payload)),
      wire::kProtocolTcp,           64,
      host_address(host, device),   host_address(other, network.host_device(other))};
  std::memcpy(packet->data, &ethernet, sizeof ethernet);
  std::memcpy(packet->data + wire::kEthernetSize, &ip, sizeof ip);
  std::memcpy(packet->data + kBeforeHeader, &header, sizeof header);
  packet->size = kHeaders + payload;
  network.send_from_host(host, packet);
}

void TcpFlow::arrived(uint32_t host, const base::Packet& packet) {
  if ((host != from_ && host != to_) || packet.size < kHeaders) return;
  wire::Ipv6Header ip;
  Header header;
  std::memcpy(&ip, packet.data + wire::kEthernetSize, sizeof ip);
  std::memcpy(&header, packet.data + kBeforeHeader, sizeof header);
  if (ip.next_header != wire::kProtocolTcp || header.ports != (from_ << 16 | to_)) return;
  if (host == from_) return acknowledge(header);
  if (header.seq >= received_.size()) received_.resize(std::max<size_t>(64, 2 * (header.seq + size_t{1})));
  received_[header.seq] = true;
  while (delivered_ < received_.size() && received_[delivered_]) ++delivered_;
  const bool marked = (ip.version_class_flow.load() >> 20 & 3) == 3;
  transmit(to_,
           {header.ports, header.seq, static_cast<uint32_t>(delivered_), header.transmission, kAck | marked},
           0);
}

void TcpFlow::acknowledge(const Header& header) {
  uint32_t acked = 0;
  int64_t rtt_ns = 0;
  const auto done = [&](Segment& s) {
    if (s.in_flight) --in_flight_;
    s.in_flight = false;
    if (!s.sacked) ++acked;
    s.sacked = true;
  };
  if (header.seq >= first_ && header.seq < next_) {
    Segment& s = segment(header.seq);
    if (s.transmission == header.transmission) rtt_ns = world_.now_ns() - s.sent_ns;
    done(s);
  }
  const bool progress = header.ack > first_;
  while (first_ < header.ack && !segments_.empty()) {
    done(segments_.front());
    segments_.pop_front();
    ++first_;
  }
  newest_acked_ = std::max(newest_acked_, header.transmission);
  if (rtt_ns > 0) {
    variation_ns_ =
        smoothed_ns_ ? variation_ns_ + (std::abs(smoothed_ns_ - rtt_ns) - variation_ns_) / 4 : rtt_ns / 2;
    smoothed_ns_ = smoothed_ns_ ? smoothed_ns_ + (rtt_ns - smoothed_ns_) / 8 : rtt_ns;
    least_ns_ = std::min(least_ns_, rtt_ns);
    round_least_ns_ = std::min(round_least_ns_, rtt_ns);
  }
  if (header.flags & kCongestion) react(first_, false);
  while (!order_.empty() && order_.front().first + kReordering <= newest_acked_) {
    const auto [transmission, seq] = order_.front();
    order_.pop_front();
    if (seq >= first_ && segment(seq).transmission == transmission && segment(seq).in_flight) lose(seq);
  }
  if (first_ >= round_end_) {
    const int64_t more_ns = std::clamp(least_ns_ / 8, 4 * base::kMillisecond, 16 * base::kMillisecond);
    if (cwnd_ < threshold_ && round_least_ns_ != base::kNever && round_least_ns_ > least_ns_ + more_ns)
      threshold_ = cwnd_;
    round_end_ = next_;
    round_least_ns_ = base::kNever;
  }
  if (acked && first_ >= recover_) grow(acked, std::max<int64_t>(smoothed_ns_, 1));
  if (progress || acked) {
    backoff_ = 0;
    deadline_ns_ = in_flight_ || next_ > first_ ? world_.now_ns() + timeout_ns() : base::kNever;
  }
  send_what_fits();
}

void TcpFlow::lose(uint32_t seq) {
  segment(seq).in_flight = false;
  --in_flight_;
  ++lost_;
  again_.push_back(seq);
  react(seq, false);
}

void TcpFlow::react(uint32_t seq, bool timeout) {
  if (!timeout && seq < recover_) return;
  most_ = cwnd_ < most_ ? cwnd_ * (1 + kFall) / 2 : cwnd_;  // fast convergence
  threshold_ = std::max(2.0, cwnd_ * kFall);
  cwnd_ = timeout ? 1 : threshold_;
  recover_ = next_;
  epoch_ns_ = 0;
}

void TcpFlow::grow(uint32_t acked, int64_t rtt_ns) {
  if (cwnd_ < threshold_) {
    cwnd_ += acked;
    return;
  }
  const int64_t now_ns = world_.now_ns();
  if (epoch_ns_ == 0) {
    epoch_ns_ = now_ns;
    epoch_from_ = reno_ = cwnd_;
    most_ = std::max(most_, cwnd_);
  }
  const double t = static_cast<double>(now_ns - epoch_ns_ + rtt_ns) / base::kSecond;
  const double k = std::cbrt((most_ - epoch_from_) / kCubic);
  const double target = std::clamp(kCubic * std::pow(t - k, 3) + most_, cwnd_, 1.5 * cwnd_);
  cwnd_ += (target - cwnd_) / cwnd_ * acked;
  reno_ += 3 * (1 - kFall) / (1 + kFall) * acked / cwnd_;
  cwnd_ = std::max(cwnd_, reno_);
}

void TcpFlow::send_what_fits() {
  while (in_flight_ < static_cast<uint32_t>(cwnd_)) {
    while (!again_.empty() &&
           (again_.front() < first_ || segment(again_.front()).sacked || segment(again_.front()).in_flight))
      again_.pop_front();
    if (!again_.empty()) {
      send(again_.front());
      again_.pop_front();
    } else {
      segments_.emplace_back();
      send(next_++);
    }
  }
}

void TcpFlow::send(uint32_t seq) {
  Segment& s = segment(seq);
  s.transmission = ++transmissions_;
  s.sent_ns = world_.now_ns();
  s.in_flight = true;
  ++in_flight_;
  order_.emplace_back(s.transmission, seq);
  transmit(from_, {from_ << 16 | to_, seq, 0, s.transmission, 0}, kPayload);
  if (deadline_ns_ == base::kNever) deadline_ns_ = s.sent_ns + timeout_ns();
  arm();
}

int64_t TcpFlow::timeout_ns() const {
  const int64_t time =
      smoothed_ns_ ? std::max(kLeastTimeoutNs, smoothed_ns_ + 4 * variation_ns_) : base::kSecond;
  return time << std::min(backoff_, 6u);
}

void TcpFlow::arm() {
  if (armed_ || deadline_ns_ == base::kNever) return;
  armed_ = true;
  world_.network().call_at(deadline_ns_, [this] {
    armed_ = false;
    if (world_.now_ns() >= deadline_ns_) {
      ++timeouts_;
      ++backoff_;
      for (uint32_t seq = first_; seq < next_; ++seq) {
        Segment& s = segment(seq);
        if (!s.in_flight) continue;
        s.in_flight = false;
        again_.push_back(seq);
      }
      in_flight_ = 0;
      order_.clear();
      react(first_, true);
      deadline_ns_ = base::kNever;
      send_what_fits();
    }
    arm();
  });
}

}  // namespace l3dml::sim
