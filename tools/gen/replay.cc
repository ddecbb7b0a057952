#include "tools/gen/replay.h"

#include <algorithm>
#include <cstring>

namespace l3dml::gen {

Replay::Replay(const std::vector<CapturedFrame>& frames, PortSet ports, const ReplayOptions& options)
    : frames_(frames), ports_(std::move(ports)), options_(options) {
  if (frames_.empty()) return;
  // After the last frame of a loop comes the mean gap.
  const int64_t span = std::max<int64_t>(0, frames_.back().time_ns - frames_.front().time_ns);
  length_ns_ = span + span / static_cast<int64_t>(std::max<size_t>(1, frames_.size() - 1));
}

int64_t Replay::due_ns(uint64_t index) const {
  if (options_.packets_per_s > 0)
    return begin_ns_ + static_cast<int64_t>(static_cast<double>(index) * 1e9 / options_.packets_per_s);
  const uint64_t loop = index / frames_.size();
  const int64_t at = frames_[index % frames_.size()].time_ns - frames_.front().time_ns;
  return begin_ns_ + static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(loop) * length_ns_ + at) /
                                          options_.speed);
}

uint64_t Replay::port_drops() const {
  uint64_t drops = 0;
  for (const io::Port* port : ports_.ports) {
    const io::PortStats stats = port->stats();
    drops += stats.rx_drops + stats.rx_errors + stats.tx_drops + stats.tx_errors;
  }
  return drops;
}

void Replay::begin(int64_t now_ns) {
  begin_ns_ = last_sent_ns_ = now_ns;
  drops_before_ = port_drops();
  result_.frames = frames_.size() * uint64_t{options_.loops};
  if (result_.frames == 0) end_ns_ = now_ns;
}

bool Replay::step(int64_t now_ns) {
  base::Packet* packets[base::kBurst];
  for (io::Port* port : ports_.ports) {
    const unsigned count = port->rx_burst(packets, base::kBurst, now_ns);
    for (unsigned i = 0; i < count; ++i) {
      ++result_.received;
      result_.received_bytes += packets[i]->frame_size();
      base::release(packets[i]);
    }
  }
  for (size_t burst = 0; burst < base::kBurst && next_ < result_.frames && due_ns(next_) <= now_ns; ++burst) {
    result_.late_ns = std::max(result_.late_ns, now_ns - due_ns(next_));
    const CapturedFrame& frame = frames_[next_++ % frames_.size()];
    base::Packet* packet = ports_.pool->alloc();
    if (packet == nullptr) {
      ++result_.no_buffer;
      continue;
    }
    if (frame.bytes.size() > packet->capacity - static_cast<size_t>(packet->data - packet->buffer)) {
      ++result_.too_long;
      base::release(packet);
      continue;
    }
    std::memcpy(packet->data, frame.bytes.data(), frame.bytes.size());
    packet->size = static_cast<uint32_t>(frame.bytes.size());
    ++result_.sent;
    result_.sent_bytes += packet->size;
    ports_.ports[frame.interface % ports_.ports.size()]->tx_burst({&packet, 1}, now_ns);
    last_sent_ns_ = now_ns;
  }
  if (next_ == result_.frames && end_ns_ == base::kNever) end_ns_ = now_ns + options_.drain_ns;
  return now_ns < end_ns_;
}

ReplayResult Replay::finish() {
  result_.port_drops = port_drops() - drops_before_;
  result_.seconds = static_cast<double>(last_sent_ns_ - begin_ns_) * 1e-9;
  return result_;
}

}  // namespace l3dml::gen
