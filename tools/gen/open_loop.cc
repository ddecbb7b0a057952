#include "tools/gen/open_loop.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace l3dml::gen {
namespace {

constexpr int kReceiveBursts = 8;  // taken in before something is sent

}  // namespace

OpenLoop::OpenLoop(std::vector<JobTraffic> jobs, PortSet ports, const OpenLoopOptions& options)
    : job_index_(65536, -1), ports_(std::move(ports)), options_(options), bad_(options.seed) {
  for (const Flood& flood : options.floods) floods_.push_back({flood});
  for (JobTraffic& traffic : jobs) {
    const host::StripeConfig& first = traffic.members.front().stripe;
    Pattern pattern(static_cast<unsigned>(traffic.members.size()), first.lanes, options.seed + first.job);
    jobs_.push_back(std::unique_ptr<Job>(new Job{std::move(traffic), std::move(pattern)}));
    Job& job = *jobs_.back();
    job_index_[first.job] = static_cast<int>(jobs_.size() - 1);
    job.first = first.first_number;
    job.first_stream = streams_.size();
    const size_t count = job.traffic.members.size();
    job.skew_ns = count > 1 ? options.skew_ns : 0;
    for (size_t child = 0; child < count; ++child) {
      const Member& member = job.traffic.members[child];
      Stream stream{&member, &job, static_cast<unsigned>(child)};
      if (count > 1)
        stream.skew_ns = options.skew_ns * static_cast<int64_t>(child) / static_cast<int64_t>(count - 1);
      stream.head = host::head_of(member.stripe, member.own, member.next);
      wire::L3dmlHeader& h = stream.head.l3dml;
      h.set_type(wire::Type::up);
      h.job.set(member.stripe.job);
      h.epoch = member.stripe.epoch;
      h.child = member.stripe.child;
      h.weight.set(1);
      stream.frame_size = static_cast<uint32_t>(wire::kHeadSize + 4 * member.stripe.lanes);
      stream.seqs.resize(member.stripe.shards);
      stream.seen.resize(size_t{member.stripe.ring} * member.stripe.shards);
      streams_.push_back(std::move(stream));
    }
  }
}

double OpenLoop::mean_frame_bytes() const {
  double bytes = 0, packets = 0;
  for (const auto& job : jobs_) {
    const double weight = job->traffic.share * static_cast<double>(job->traffic.members.size());
    bytes += weight * static_cast<double>(streams_[job->first_stream].frame_size);
    packets += weight;
  }
  return bytes / packets;
}

void OpenLoop::begin(const Trial& trial, int64_t now_ns) {
  trial_ = trial;
  result_ = {};
  result_.offered_per_s = trial.packets_per_s;
  drops_before_ = port_drops();
  begin_ns_ = last_sent_ns_ = now_ns;
  end_ns_ = base::kNever;
  double weight = 0;
  for (const auto& job : jobs_)
    weight += job->traffic.share * static_cast<double>(job->traffic.members.size());
  for (const auto& job : jobs_) {
    job->first += static_cast<uint32_t>(job->count);
    const double numbers_per_s = trial.packets_per_s * job->traffic.share / weight;
    job->gap_ns = 1e9 / numbers_per_s;
    job->count = static_cast<uint64_t>(static_cast<double>(trial.duration_ns) / job->gap_ns);
  }
  expected_ = 0;
  unfinished_ = 0;
  for (Stream& stream : streams_) {
    stream.sent = 0;
    expected_ += stream.job->count;
    unfinished_ += stream.job->count != 0;
  }
  for (FloodState& state : floods_) {
    state.gap_ns = 1e9 / (trial.packets_per_s * state.flood.per_gradient);
    state.sent = 0;
  }
  if (unfinished_ == 0) end_ns_ = now_ns;
}

int64_t OpenLoop::next_ns() const {
  int64_t next = end_ns_;
  for (const Stream& stream : streams_)
    if (stream.sent < stream.job->count) next = std::min(next, due_ns(stream, stream.sent));
  return next;
}

bool OpenLoop::step(int64_t now_ns) {
  receive(now_ns);
  for (Stream& stream : streams_)
    if (stream.sent < stream.job->count && due_ns(stream, stream.sent) <= now_ns) send_due(stream, now_ns);
  if (!floods_.empty()) send_floods(now_ns);
  if (unfinished_ == 0 && end_ns_ == base::kNever) end_ns_ = now_ns + trial_.drain_ns;
  return now_ns < end_ns_ && (unfinished_ != 0 || result_.received + result_.wrong < expected_);
}

bool OpenLoop::receive(int64_t now_ns) {
  base::Packet* packets[base::kBurst];
  bool any = false;
  for (io::Port* port : ports_.ports) {
    for (int burst = 0; burst < kReceiveBursts; ++burst) {
      const unsigned count = port->rx_burst(packets, base::kBurst, now_ns);
      for (unsigned i = 0; i < count; ++i) {
        if (i + 2 < count) __builtin_prefetch(packets[i + 2]->data);
        on_frame(*packets[i], now_ns);
        base::release(packets[i]);
      }
      any |= count != 0;
      if (count < base::kBurst) break;
    }
  }
  return any;
}

void OpenLoop::on_frame(const base::Packet& packet, int64_t now_ns) {
  host::ReceivedFrame frame;
  if (!host::read_frame(packet, &frame)) {
    ++result_.strays.foreign;
    return;
  }
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const int index = job_index_[h.job.load()];
  if (index < 0 || h.child >= jobs_[static_cast<size_t>(index)]->traffic.members.size()) {
    ++result_.strays.unwanted;
    return;
  }
  Stream& stream = streams_[jobs_[static_cast<size_t>(index)]->first_stream + h.child];
  const host::StripeConfig& stripe = stream.member->stripe;
  const unsigned shard = frame.head->udp.src_port.load() & (stripe.shards - 1);
  if (h.version() != wire::kVersion || h.epoch != stripe.epoch ||
      frame.head->udp.dst_port.load() != stripe.local_port ||
      frame.head->ipv6.dst_addr != stripe.local_address ||
      frame.head->ipv6.src_addr != stripe.result_source) {
    ++result_.strays.unwanted;
    return;
  }
  switch (h.type()) {
    case wire::Type::down:
      if ((h.number.load() & (stripe.shards - 1)) == shard) return on_result(stream, frame, now_ns);
      ++result_.strays.unwanted;
      return;
    case wire::Type::nack:
      ++result_.strays.nacks;
      return;
    case wire::Type::sync:
      ++result_.strays.syncs;
      return;
    default:
      ++result_.strays.unwanted;
  }
}

void OpenLoop::on_result(Stream& stream, const host::ReceivedFrame& frame, int64_t now_ns) {
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const Job& job = *stream.job;
  const uint32_t number = h.number.load();
  const uint32_t index = number - job.first;  // in this trial
  if (index >= stream.sent) {
    ++(index >= job.count ? result_.strays.late : result_.strays.unwanted);
    return;
  }
  uint32_t& seen = stream.seen[number & (stream.seen.size() - 1)];
  if (seen == number) {
    ++result_.strays.duplicates;
    return;
  }
  seen = number;
  if (frame.lane_count * 4 != job.pattern.bytes()) return wrong(stream, frame, "its lanes are not the job's");
  if (std::memcmp(frame.lanes, job.pattern.sum(number), job.pattern.bytes()) != 0)
    return wrong(stream, frame, "its lanes are not the sum");
  if (h.weight.load() != job.traffic.members.size()) return wrong(stream, frame, "its weight is wrong");
  if (h.exp != Pattern::exp(number) || h.next_exp != job.pattern.largest_next_exp(number))
    return wrong(stream, frame, "its exponents are wrong");
  ++result_.received;
  const int64_t last_due =
      begin_ns_ + job.skew_ns + static_cast<int64_t>(static_cast<double>(index) * job.gap_ns);
  result_.latency.record(now_ns - last_due);
}

void OpenLoop::wrong(const Stream& stream, const host::ReceivedFrame& frame, const char* what) {
  if (result_.wrong++ == 0)
    result_.first_wrong = absl::StrCat("job ", stream.member->stripe.job, ", worker ", stream.child,
                                       ", number ", frame.head->l3dml.number.load(), ": ", what);
}

void OpenLoop::fill(Stream& stream, base::Packet* packet) {
  const host::StripeConfig& stripe = stream.member->stripe;
  const uint32_t number = stream.job->first + static_cast<uint32_t>(stream.sent);
  const unsigned shard = number & (stripe.shards - 1);
  host::write_head(packet->data, stream.head, shard, wire::kL3dmlSize + stream.job->pattern.bytes());
  wire::L3dmlHeader h = stream.head.l3dml;
  h.slot.set(stripe.slot_base + ((number >> std::countr_zero(stripe.shards)) & (stripe.ring - 1)));
  h.number.set(number);
  h.exp = Pattern::exp(number);
  h.next_exp = Pattern::next_exp(stream.child, number);
  h.seq.set(stream.seqs[shard]++);
  std::memcpy(packet->data + host::kBeforeDatagram, &h, sizeof h);
  std::memcpy(packet->data + wire::kHeadSize, stream.job->pattern.lanes(stream.child, number),
              stream.job->pattern.bytes());
  packet->size = stream.frame_size;
}

// At most a burst, so that the streams take turns.
bool OpenLoop::send_due(Stream& stream, int64_t now_ns) {
  base::Packet* packets[base::kBurst];
  const uint64_t until = std::min<uint64_t>(stream.job->count, stream.sent + base::kBurst);
  unsigned due = 0;
  while (stream.sent + due < until && due_ns(stream, stream.sent + due) <= now_ns) ++due;
  result_.late_ns = std::max(result_.late_ns, now_ns - due_ns(stream, stream.sent));
  const unsigned have = ports_.pool->alloc_bulk(packets, due);
  for (unsigned i = 0; i < have; ++i, ++stream.sent) fill(stream, packets[i]);
  // The schedule waits for nobody: what has no buffer is not sent, and is lost.
  stream.sent += due - have;
  result_.no_buffer += due - have;
  result_.sent += due;
  result_.frame_bytes += uint64_t{have} * stream.frame_size;
  ports_.ports[stream.member->port]->tx_burst({packets, have}, now_ns);
  last_sent_ns_ = now_ns;
  unfinished_ -= stream.sent == stream.job->count;
  return due != 0;
}

void OpenLoop::send_floods(int64_t now_ns) {
  for (FloodState& state : floods_) {
    const int64_t elapsed = std::min(now_ns - begin_ns_, trial_.duration_ns);
    const auto due = static_cast<uint64_t>(static_cast<double>(elapsed) / state.gap_ns);
    for (unsigned burst = 0; state.sent < due && burst < 4 * base::kBurst; ++burst, ++state.sent) {
      base::Packet* packet = ports_.pool->alloc();
      if (packet == nullptr) return;
      const Member& member = *streams_[state.sent % streams_.size()].member;
      bad_.write(state.flood.kind, member, packet);
      ports_.ports[member.port]->tx_burst({&packet, 1}, now_ns);
      ++result_.bad_sent;
    }
  }
}

uint64_t OpenLoop::port_drops() const {
  uint64_t drops = 0;
  for (const io::Port* port : ports_.ports) {
    const io::PortStats stats = port->stats();
    drops += stats.rx_drops + stats.rx_errors + stats.tx_drops + stats.tx_errors;
  }
  return drops;
}

TrialResult OpenLoop::finish() {
  result_.lost = result_.sent - std::min(result_.sent, result_.received + result_.wrong);
  result_.port_drops = port_drops() - drops_before_;
  // A trial of `count` packets at a gap takes count gaps, the last of which passes after the last packet.
  const int64_t took = std::max(trial_.duration_ns, last_sent_ns_ - begin_ns_ - options_.skew_ns);
  result_.sent_per_s =
      static_cast<double>(result_.sent - result_.no_buffer) * 1e9 / static_cast<double>(took);
  return std::move(result_);
}

}  // namespace l3dml::gen
