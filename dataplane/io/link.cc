#include "dataplane/io/link.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dataplane/io/copy.h"
#include "dataplane/io/ecn.h"

namespace l3dml::io {

Link::Link(const LinkParameters& parameters, uint64_t seed)
    : parameters_(parameters),
      loss_random_(seed * 8 + 1),
      corrupt_random_(seed * 8 + 2),
      jitter_random_(seed * 8 + 3),
      reorder_random_(seed * 8 + 4),
      duplicate_random_(seed * 8 + 5) {}

Link::~Link() {
  while (!waiting_.empty()) base::release(waiting_.pop().packet);
  while (!flight_.empty()) base::release(flight_.pop().packet);
  for (const Flying& flying : held_back_) base::release(flying.packet);
}

void Link::offer(base::Packet* packet, int64_t now_ns) {
  advance(now_ns);
  const uint32_t size = packet->frame_size();
  ++counters_.offered_packets;
  counters_.offered_bytes += size;
  if (rate_bps() == 0 && waiting_.empty()) return send(packet, now_ns_);
  if (waiting_.empty() && wire_free_ns_ <= now_ns_) return send(packet, now_ns_);
  if (waiting_bytes_ + size > parameters_.queue_limit_bytes()) {
    ++counters_.queue_drops;
    return base::release(packet);
  }
  if (parameters_.ecn_bytes != 0 && waiting_bytes_ >= parameters_.ecn_bytes && mark_congestion(*packet))
    ++counters_.marked_packets;
  waiting_bytes_ += size;
  counters_.max_queue_bytes = std::max(counters_.max_queue_bytes, waiting_bytes_);
  waiting_.push({packet, now_ns_});
}

unsigned Link::take(base::Packet** packets, unsigned room, int64_t now_ns) {
  advance(now_ns);
  unsigned count = 0;
  while (count < room) {
    const bool held =
        !held_back_.empty() && (flight_.empty() || Later{}(flight_.front(), held_back_.front()));
    if (!held && flight_.empty()) break;
    if ((held ? held_back_.front() : flight_.front()).arrival_ns > now_ns_) break;
    Flying arrived;
    if (held) {
      std::pop_heap(held_back_.begin(), held_back_.end(), Later{});
      arrived = held_back_.back();
      held_back_.pop_back();
    } else {
      arrived = flight_.pop();
    }
    base::Packet* const packet = arrived.packet;
    packet->time_ns = arrived.arrival_ns;
    ++counters_.delivered_packets;
    counters_.delivered_bytes += packet->frame_size();
    packets[count++] = packet;
  }
  return count;
}

int64_t Link::next_deadline() const {
  int64_t deadline = base::kNever;
  if (!flight_.empty()) deadline = flight_.front().arrival_ns;
  if (!held_back_.empty()) deadline = std::min(deadline, held_back_.front().arrival_ns);
  if (waiting_.empty()) return deadline;
  // What waits arrives no earlier than this; a change on the way may shorten the delay.
  const int64_t flight_ns = std::max<int64_t>(0, parameters_.delay_ns - parameters_.jitter_ns);
  const bool normal = parameters_.jitter_ns > 0 && parameters_.jitter_kind == JitterKind::normal;
  const int64_t earliest = wire_free_ns_ + (normal ? 0 : flight_ns);
  return std::min({deadline, earliest, std::max(next_change_ns(), wire_free_ns_)});
}

void Link::change(const LinkParameters& parameters, int64_t now_ns) {
  advance(now_ns);
  parameters_ = parameters;
  advance(now_ns);
}

void Link::set_ceiling(uint64_t rate_bps, int64_t now_ns) {
  advance(now_ns);
  ceiling_bps_ = rate_bps;
  advance(now_ns);
}

void Link::set_trace(LinkTrace trace, int64_t start_ns) {
  trace_ = std::move(trace);
  trace_start_ns_ = start_ns;
  trace_next_ = 0;
}

int64_t Link::next_change_ns() const {
  return trace_next_ < trace_.changes.size() ? trace_start_ns_ + trace_.changes[trace_next_].at_ns
                                             : base::kNever;
}

void Link::apply_trace(int64_t until_ns) {
  while (next_change_ns() <= until_ns) {
    trace_.changes[trace_next_++].patch.apply(parameters_);
    if (trace_next_ == trace_.changes.size() && trace_.repeat_ns > 0) {
      trace_next_ = 0;
      trace_start_ns_ += trace_.repeat_ns;
    }
  }
}

// Lets the wire do all that it did until now: each waiting packet starts when the wire is free.
void Link::advance(int64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  while (!waiting_.empty()) {
    const int64_t start_ns = std::max(wire_free_ns_, waiting_.front().since_ns);
    if (start_ns > now_ns_) break;
    apply_trace(start_ns);
    base::Packet* const packet = waiting_.pop().packet;
    waiting_bytes_ -= packet->frame_size();
    send(packet, start_ns);
  }
  apply_trace(now_ns_);
}

void Link::send(base::Packet* packet, int64_t start_ns) {
  const uint32_t size = packet->frame_size();
  wire_free_ns_ = start_ns + wire_time_ns(size);
  ++counters_.sent_packets;
  counters_.sent_bytes += size;
  // Both are drawn always, so that one kind of trouble does not move the other.
  const bool lost = draw_loss();
  const bool corrupted = draw_corruption(size);
  if (lost || !parameters_.up) {
    ++counters_.lost_packets;
    return base::release(packet);
  }
  if (corrupted) {
    ++counters_.corrupted_packets;
    return base::release(packet);
  }
  fly(packet, wire_free_ns_);
}

void Link::fly(base::Packet* packet, int64_t sent_ns) {
  const int64_t arrival_ns = sent_ns + draw_delay();
  const bool twice = duplicate_random_.chance(parameters_.duplicate);
  if (reorder_random_.chance(parameters_.reorder)) {
    const int64_t extra =
        parameters_.reorder_delay_ns != 0 ? parameters_.reorder_delay_ns : base::kMillisecond;
    ++counters_.reordered_packets;
    held_back_.push_back({packet, arrival_ns + extra, order_++});
    std::push_heap(held_back_.begin(), held_back_.end(), Later{});
  } else {
    last_arrival_ns_ = std::max(last_arrival_ns_, arrival_ns);
    flight_.push({packet, last_arrival_ns_, order_++});
  }
  if (!twice) return;
  base::Packet* const copy = copy_packet(*packet, *packet->pool);
  if (copy == nullptr) {
    ++counters_.no_buffer;
    return;
  }
  ++counters_.duplicated_packets;
  last_arrival_ns_ = std::max(last_arrival_ns_, arrival_ns);
  flight_.push({copy, last_arrival_ns_, order_++});
}

int64_t Link::wire_time_ns(uint32_t frame_bytes) const {
  const uint64_t rate = rate_bps();
  if (rate == 0) return 0;
  const uint64_t bits =
      8ull * (std::max(frame_bytes, parameters_.overhead_bytes ? parameters_.min_frame_bytes : 0u) +
              parameters_.overhead_bytes);
  return static_cast<int64_t>(bits * 1'000'000'000ull / rate);
}

bool Link::draw_loss() {
  const LossModel& model = parameters_.loss;
  const double move = loss_random_.uniform();
  loss_is_bad_ = loss_is_bad_ ? move >= model.bad_to_good : move < model.good_to_bad;
  return loss_random_.chance(loss_is_bad_ ? model.loss_bad : model.loss_good);
}

bool Link::draw_corruption(uint32_t frame_bytes) {
  double p = parameters_.corrupt;
  if (parameters_.bit_error_rate > 0)
    p = 1 - (1 - p) * std::pow(1 - parameters_.bit_error_rate, 8.0 * frame_bytes);
  return corrupt_random_.chance(p);
}

int64_t Link::draw_delay() {
  if (parameters_.jitter_ns == 0) return parameters_.delay_ns;
  const double unit = parameters_.jitter_kind == JitterKind::normal ? jitter_random_.normal()
                                                                    : 2 * jitter_random_.uniform() - 1;
  const auto jitter_ns = static_cast<int64_t>(unit * static_cast<double>(parameters_.jitter_ns));
  return std::max<int64_t>(0, parameters_.delay_ns + jitter_ns);
}

}  // namespace l3dml::io
