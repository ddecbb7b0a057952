#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/base/limits.h"
#include "dataplane/base/mutation.h"
#include "tools/host/open_collective.h"
#include "tools/host/worker_core.h"

namespace l3dml::host {
namespace {

constexpr int64_t kSyncGapNs = 200 * base::kMicrosecond;  // least quiet time before a SYNC
constexpr int64_t kLongestPauseNs = 250 * base::kMillisecond;
constexpr int64_t kLongestBackoffNs = 8 * base::kSecond;
constexpr unsigned kMostDoublings = 6;

}  // namespace

void WorkerCore::poll(int64_t now_ns, PacketSink& sink) {
  if (paused_ && !L3DML_MUTATE(paused_member_sends)) return;
  control_pending_ = false;
  pacer_.refill(now_ns);
  send_nacks(sink);
  send_probes(now_ns, sink);
  while (pacer_.may_send() && send_next(now_ns, sink) != Sent::full) {
    if (urgent_.empty() && ready_.empty()) break;
  }
  send_syncs(now_ns, sink);
}

int64_t WorkerCore::next_deadline_ns() const {
  if (paused_) return base::kNever;
  if (control_pending_ || !nacks_.empty()) return 0;
  int64_t deadline = next_sync_ns_;
  if (!urgent_.empty() || !ready_.empty()) deadline = std::min(deadline, pacer_.next_ns());
  int64_t ask = base::kNever;
  for (const uint32_t oldest : {flight_.oldest(), confirmed_.oldest()})
    if (oldest != Flight::kNone) ask = std::min(ask, overdue_ns(positions_[oldest]));
  if (ask != base::kNever && !L3DML_MUTATE(never_asks)) {
    if (round_probes_ && probe_credit_ == 0) ask = std::max(ask, round_end_ns_);
    deadline = std::min(deadline, ask);
  }
  return deadline;
}

WorkerCore::Sent WorkerCore::send_next(int64_t now_ns, PacketSink& sink) {
  PositionQueue& queue = urgent_.empty() ? ready_ : urgent_;
  if (queue.empty()) return Sent::no;
  const uint32_t position = queue.front();
  Position& p = positions_[position];
  Sent sent = Sent::no;
  if (p.state == Position::State::ready) {
    p.in_turn = &queue == &ready_;
    sent = send_first(position, now_ns, sink);
  } else if (p.state == Position::State::flying && p.resend) {
    sent = send_again(position, now_ns, sink);
  }
  if (sent == Sent::full) {
    control_pending_ = true;
    return sent;
  }
  (&queue == &urgent_ ? p.urgent_queued : p.ready_queued) = false;
  queue.pop();
  return sent;
}

// Decides whether the next pass asks for the exponent or carries lanes, and under which exponent.
bool WorkerCore::choose_exponent(uint32_t position) {
  Position& p = positions_[position];
  OpenCollective& collective = *p.collective;
  p.asking = p.stage.kind == Stage::Kind::ask;
  p.exp = p.stage.kind == Stage::Kind::given ? p.stage.exp : 0;
  if (p.stage.kind != Stage::Kind::fresh || collective.integer()) return true;
  if (p.chunk >= config_.look_ahead) {
    const uint32_t teller = p.chunk - config_.look_ahead;
    if (!collective.held(teller)) {  // W changed, so it may be in another position
      collective.waiters.push_back(position);
      return false;
    }
    p.exp = collective.told_exponent(p.chunk);
  } else if (ExponentRecord* previous = collective.previous()) {
    const ExponentRecord::Prediction prediction = previous->predict(p.chunk);
    if (prediction.known == ExponentRecord::Known::not_yet && !L3DML_MUTATE(prediction_not_waited_for)) {
      previous->waiters(p.chunk).push_back(position);
      return false;
    }
    p.exp = prediction.known == ExponentRecord::Known::yes ? prediction.exp : 0;
  }
  p.asking = p.exp == 0;
  stats_.asked += p.asking;
  return true;
}

WorkerCore::Sent WorkerCore::send_first(uint32_t position, int64_t now_ns, PacketSink& sink) {
  Position& p = positions_[position];
  if (!choose_exponent(position)) {
    p.state = Position::State::blocked;
    return Sent::no;
  }
  uint8_t* packet = sink.reserve(shard_of(p.next_number), wire::kL3dmlSize + size_t{config_.lanes} * 4);
  if (!packet) return Sent::full;
  if (!p.decided) {
    p.decided = true;
    p.abstains = now_ns > p.collective->request().abstain_after_ns;
    stats_.abstained += p.abstains;
  }
  p.number = p.next_number;
  p.next_number += config_.window;
  fill_fields(p, packet + wire::kL3dmlSize);
  if (!p.collective->begun) {
    p.collective->begun = true;
    begun_collectives_ = std::max(begun_collectives_, p.collective->index() + 1);
    begun_chunks_ = std::max(begun_chunks_, p.collective->end_place());
  }
  p.state = Position::State::flying;
  p.resend = p.touched = p.probed = p.confirmed = false;
  p.sent_ns = now_ns;
  ++flying_[shard_of(p.number)];
  flight_.append(position);
  commit_up(position, false, packet, now_ns, sink);
  if (now_ns >= timing_due_ns_) send_timing_probe(now_ns, sink);
  return Sent::yes;
}

// What the UP of a number says: fixed from here on, a resend is bit-identical.
void WorkerCore::fill_fields(Position& p, uint8_t* lanes) {
  OpenCollective& collective = *p.collective;
  p.empty = true;
  if (p.asking) {
    p.next_exp = p.abstains || collective.integer() ? 0 : collective.needed_exponent(p.chunk);
  } else if (p.abstains) {
    p.next_exp = collective.wish_after(p.chunk);
  } else {
    const uint8_t needed = collective.quantize(p.chunk, p.exp, lanes);
    p.empty = needed > p.exp && !L3DML_MUTATE(sends_what_does_not_fit);
    p.next_exp = !p.empty                        ? collective.wish_after(p.chunk)
                 : needed == wire::kExpNonFinite ? needed
                                                 : wire::kExpOverflow;
  }
  if (L3DML_MUTATE(non_finite_not_told) && p.next_exp == wire::kExpNonFinite) p.next_exp = wire::kExpOverflow;
  if (p.next_exp == wire::kExpNonFinite) collective.note_own_bad(p.chunk);
}

WorkerCore::Sent WorkerCore::send_again(uint32_t position, int64_t now_ns, PacketSink& sink) {
  Position& p = positions_[position];
  const size_t lane_bytes = p.empty ? 0 : size_t{config_.lanes} * 4;
  uint8_t* packet = sink.reserve(shard_of(p.number), wire::kL3dmlSize + lane_bytes);
  if (!packet) return Sent::full;
  const uint8_t exp = static_cast<uint8_t>(p.exp + L3DML_MUTATE(resend_scaled_otherwise));
  if (!p.empty) p.collective->quantize(p.chunk, exp, packet + wire::kL3dmlSize);
  p.resend = false;
  p.touched = true;
  touch(position, false, now_ns);
  ++stats_.retransmitted;
  commit_up(position, true, packet, now_ns, sink);
  return Sent::yes;
}

void WorkerCore::commit_up(uint32_t position, bool again, uint8_t* packet, int64_t now_ns, PacketSink& sink) {
  Position& p = positions_[position];
  const unsigned shard = shard_of(p.number);
  const size_t lane_bytes = p.empty ? 0 : size_t{config_.lanes} * 4;
  const size_t frame = wire::kHeadSize + lane_bytes;
  const int64_t gap = std::max(kSyncGapNs, 4 * pacer_.time_of(frame));
  p.seq = up_[shard].send(p.number, again, now_ns, gap);
  next_sync_ns_ = std::min(next_sync_ns_, now_ns + gap);
  p.touched_ns = now_ns;
  auto* header = reinterpret_cast<wire::L3dmlHeader*>(
      write_header(packet, wire::Type::up, again ? wire::kFlagRetx : uint8_t{0}, p.number));
  header->exp = p.exp;
  header->next_exp = p.next_exp;
  header->weight.set(p.empty && !L3DML_MUTATE(empty_up_weighs_one) ? 0 : 1);
  header->seq.set(p.seq);
  sink.commit(wire::kL3dmlSize + lane_bytes);
  // An UP without lanes becomes one with lanes at the first inner aggregator, and a result everywhere: it is
  // these that must fit through the links, so it counts as they do.
  pacer_.spend(wire::kHeadSize + size_t{config_.lanes} * 4);
  ++stats_.ups;
  stats_.empty_ups += p.empty;
  stats_.wire_bytes += frame;
}

uint32_t WorkerCore::slot_of(uint32_t number) const {
  return config_.slot_base + ((number >> std::countr_zero(config_.shards)) & (config_.ring - 1));
}

uint8_t* WorkerCore::write_header(uint8_t* packet, wire::Type type, uint8_t flags, uint32_t number) const {
  wire::L3dmlHeader header{};
  header.set_type(type);
  header.flags = flags;
  header.job.set(config_.job);
  header.epoch = config_.epoch;
  header.child = config_.child;
  header.slot.set(slot_of(number));
  header.number.set(number);
  std::memcpy(packet, &header, sizeof header);
  return packet;
}

bool WorkerCore::send_control(wire::Type type, uint8_t flags, unsigned shard, uint32_t number, uint32_t seq,
                              uint16_t tag, PacketSink& sink) {
  uint8_t* packet = sink.reserve(shard, wire::kL3dmlSize);
  if (!packet) {
    control_pending_ = true;
    return false;
  }
  auto* header = reinterpret_cast<wire::L3dmlHeader*>(write_header(packet, type, flags, number));
  header->seq.set(seq);
  header->tag.set(tag);
  sink.commit(wire::kL3dmlSize);
  pacer_.spend(wire::kHeadSize);
  stats_.wire_bytes += wire::kHeadSize;
  return true;
}

void WorkerCore::send_nacks(PacketSink& sink) {
  size_t sent = 0;
  for (const PendingNack& nack : nacks_) {
    if (!send_control(wire::Type::nack, wire::kFlagDown, nack.shard, nack.hole.end, nack.hole.first, 0, sink))
      break;
    ++sent;
  }
  stats_.nacks_sent += sent;
  nacks_.erase(nacks_.begin(), nacks_.begin() + static_cast<std::ptrdiff_t>(sent));
}

void WorkerCore::send_syncs(int64_t now_ns, PacketSink& sink) {
  if (now_ns < next_sync_ns_) return;
  next_sync_ns_ = base::kNever;
  for (unsigned shard = 0; shard < config_.shards; ++shard) {
    UpSegment& up = up_[shard];
    if (flying_[shard] == 0) up.no_sync();
    if (up.sync_due_ns() <= now_ns && send_control(wire::Type::sync, 0, shard, 0, up.next(), 0, sink)) {
      up.sync_sent(now_ns);
      ++stats_.syncs_sent;
    }
    next_sync_ns_ = std::min(next_sync_ns_, up.sync_due_ns());
  }
}

// A round trip is measured by asking about a number that its position has not reached: the answer is always
// "missing", and nothing is sent again because of it, while asking about one that is complete would make the
// aggregator do so.
void WorkerCore::send_timing_probe(int64_t now_ns, PacketSink& sink) {
  const uint32_t number = positions_[flight_.oldest()].number + config_.window;
  const uint16_t tag = cookies_.issue(number, true, now_ns);
  if (!send_control(wire::Type::probe, 0, shard_of(number), number, 0, tag, sink)) return;
  ++stats_.probes_sent;
  timing_due_ns_ = now_ns + std::max(10 * base::kMillisecond, 4 * segment_rtt_.timeout_ns());
}

// A number is silent for too long when all of this has passed twice: the way to the root and back at its
// fastest, in which a first repair fits. Before any result: the time-out of the segment.
int64_t WorkerCore::probe_time_ns() const {
  const int64_t segment = segment_rtt_.timeout_ns();
  if (!result_time_.known()) return segment;
  const int64_t least = result_time_.least_ns();
  const int64_t spread = segment_rtt_.known() ? 4 * segment_rtt_.variation_ns() : least / 2;
  // The first results may have taken many repairs: never wait longer because of them than back-off would.
  return std::min(2 * least + std::max(base::kMillisecond, spread), std::max(segment, kLongestBackoffNs));
}

int64_t WorkerCore::silence_ns() const {
  const int64_t time = probe_time_ns();
  return std::min(time << unanswered_, std::max(time, kLongestBackoffNs));
}

// While results come in the order of sending, one that has not come yet is late because of a straggler, not
// lost: only what later numbers have overtaken is asked about, or everything once the stream has dried up.
int64_t WorkerCore::overdue_ns(const Position& p) const {
  return (overtaken(p) ? p.touched_ns : std::max(p.touched_ns, last_result_ns_)) + silence_ns();
}

int64_t WorkerCore::probe_pause_ns() const {
  const int64_t time = probe_time_ns();
  const int64_t pause = std::min(time << quiet_rounds_, std::max(time, kLongestPauseNs));
  return std::min(pause << unanswered_, std::max(time, kLongestBackoffNs));
}

void WorkerCore::touch(uint32_t position, bool confirmed, int64_t now_ns) {
  Position& p = positions_[position];
  flight_of(p).remove(position);
  p.confirmed = confirmed;
  flight_of(p).append(position);
  p.touched_ns = now_ns;
}

// What may be missing comes before what is known to wait for others: of a window that waits, one lost UP
// would otherwise be found in its turn only.
uint32_t WorkerCore::next_to_ask(int64_t now_ns) const {
  for (const uint32_t oldest : {flight_.oldest(), confirmed_.oldest()})
    if (oldest != Flight::kNone && overdue_ns(positions_[oldest]) <= now_ns) return oldest;
  return Flight::kNone;
}

void WorkerCore::send_probes(int64_t now_ns, PacketSink& sink) {
  if (next_to_ask(now_ns) == Flight::kNone || L3DML_MUTATE(never_asks)) return;
  if (now_ns >= round_end_ns_) {
    if (round_probes_ && !round_heard_) {
      unanswered_ = std::min(unanswered_ + 1, kMostDoublings);
      last_answer_ = Missing::Why::unanswered;
      ++stats_.probe_timeouts;
    } else if (round_probes_ && !round_progress_) {
      quiet_rounds_ = std::min(quiet_rounds_ + 1, kMostDoublings);
    }
    round_probes_ = 0;
    round_heard_ = round_progress_ = false;
    probe_credit_ = std::clamp(config_.window / 32, 4u, ProbeCookies::kPlaces / 4);
  }
  while (probe_credit_) {
    const uint32_t position = next_to_ask(now_ns);
    if (position == Flight::kNone) break;
    Position& p = positions_[position];
    if (p.resend) {  // known to be missing, and waiting for its turn: asking again would only take from it
      touch(position, p.confirmed, now_ns);
      continue;
    }
    const uint16_t tag = cookies_.issue(p.number, false, now_ns);
    if (!send_control(wire::Type::probe, 0, shard_of(p.number), p.number, 0, tag, sink)) return;
    ++stats_.probes_sent;
    p.touched = p.probed = true;
    touch(position, p.confirmed, now_ns);
    --probe_credit_;
    if (round_probes_++ == 0) round_end_ns_ = now_ns + probe_pause_ns();
  }
}

}  // namespace l3dml::host
