#include <algorithm>

#include "dataplane/base/mutation.h"
#include "tools/host/open_collective.h"
#include "tools/host/worker_core.h"

namespace l3dml::host {
namespace {

using base::DropReason;

constexpr size_t kMostNacks = 64;     // waiting to be sent; PROBE finds what is beyond
constexpr uint8_t kMostRepeats = 32;  // of one chunk: more means that ranks do not agree on the collective

}  // namespace

DropReason WorkerCore::check(const wire::L3dmlHeader& h, size_t lane_count, unsigned shard) const {
  if (h.version() != wire::kVersion) return DropReason::unknown_version;
  if (h.flags & ~wire::kKnownFlags) return DropReason::unknown_flag;
  const bool down = h.flags & wire::kFlagDown;
  switch (h.type()) {
    case wire::Type::down:
      if (down) return DropReason::unknown_flag;
      break;
    case wire::Type::nack:  // of the way up, which is ours
      if (down) return DropReason::unknown_flag;
      break;
    case wire::Type::sync:
    case wire::Type::probe:
      if (!down) return DropReason::unknown_flag;
      break;
    case wire::Type::recirculated:
      return DropReason::recirculated_type;
    default:
      return DropReason::unknown_type;
  }
  if (h.job.load() != config_.job) return DropReason::unknown_job;
  if ((paused_ && !L3DML_MUTATE(paused_member_listens)) || h.epoch != config_.epoch)
    return DropReason::wrong_epoch;
  if (h.child != config_.child) return DropReason::wrong_child;
  if (lane_count != (h.type() == wire::Type::down ? config_.lanes : 0)) return DropReason::bad_lane_count;
  if (shard >= config_.shards) return DropReason::wrong_shard;
  return DropReason::none;
}

DropReason WorkerCore::on_packet(const wire::L3dmlHeader& header, const uint8_t* lanes, size_t lane_count,
                                 unsigned shard, bool ce, int64_t now_ns) {
  DropReason reason = check(header, lane_count, shard);
  if (reason != DropReason::none) {
    ++stats_.refused;
    return reason;
  }
  round_heard_ = true;
  unanswered_ = 0;
  switch (header.type()) {
    case wire::Type::down:
      reason = on_down(header, lanes, shard, ce, now_ns);
      break;
    case wire::Type::nack:
      reason = on_nack(header, shard);
      break;
    case wire::Type::sync: {
      const Hole hole = down_[shard].receive(header.seq.load(), header.seq.load());
      if (!hole.exists()) return DropReason::sync_in_order;
      on_hole(shard, hole);
      break;
    }
    default:
      reason = on_answer(header, now_ns);
      break;
  }
  finish_collectives();
  return reason;
}

void WorkerCore::on_hole(unsigned shard, Hole hole) {
  stats_.downs_missing += hole.end - hole.first;
  if (nacks_.size() < kMostNacks) nacks_.push_back({shard, hole});
}

DropReason WorkerCore::on_down(const wire::L3dmlHeader& header, const uint8_t* lanes, unsigned shard, bool ce,
                               int64_t now_ns) {
  const uint32_t number = header.number.load();
  if (shard_of(number) != shard) {
    ++stats_.refused;
    return DropReason::wrong_shard;
  }
  const uint32_t seq = header.seq.load();
  if (const Hole hole = down_[shard].receive(seq, seq + 1); hole.exists()) on_hole(shard, hole);
  const uint32_t position = position_of(number);
  Position& p = positions_[position];
  if (p.state != Position::State::flying || (p.number != number && !L3DML_MUTATE(result_of_any_number))) {
    ++stats_.downs_ignored;
    return DropReason::down_repeated;
  }
  // Also of numbers sent again or asked about: it is counted from the first sending and only the least of
  // many matters. Where the root is far and the first aggregator near, all are asked about before the first
  // result.
  result_time_.sample(now_ns - p.sent_ns);
  const bool marked = ce || (header.flags & wire::kFlagEce);
  stats_.congested += marked;
  pacer_.on_result(marked, p.sent_ns, now_ns,
                   result_time_.known() ? result_time_.least_ns() : 10 * base::kMillisecond);
  if (p.probed && overtaken(p)) probe_credit_ += 2;  // its result was lost on the way: others may be as well
  last_result_ns_ = now_ns;
  if (p.in_turn) newest_answered_ns_ = std::max(newest_answered_ns_, p.sent_ns);
  round_progress_ = true;
  quiet_rounds_ = 0;
  ++stats_.downs;
  hold(position, header.exp, header.next_exp, header.weight.load(), lanes);
  return DropReason::none;
}

// The result of the number in flight is held, from the network or from another member's copy.
void WorkerCore::hold(uint32_t position, uint8_t exp, uint8_t next_exp, uint16_t weight,
                      const uint8_t* lanes) {
  Position& p = positions_[position];
  if (!L3DML_MUTATE(results_not_kept)) results_.put(position, {true, p.number, exp, next_exp, weight}, lanes);
  flight_of(p).remove(position);
  --flying_[shard_of(p.number)];
  OpenCollective& collective = *p.collective;
  const bool disagree = p.stage.repeats >= kMostRepeats;
  if (next_exp == wire::kExpOverflow && !disagree && !L3DML_MUTATE(overflow_taken_as_result))
    return repeat(position, Stage::Kind::ask, 0);
  if (next_exp < wire::kExpNonFinite && p.asking && !disagree) {
    const uint8_t told = collective.integer() ? 0 : std::max(next_exp, kernels::kExpMin);
    return repeat(position, Stage::Kind::given, told);
  }
  if (next_exp >= wire::kExpNonFinite || disagree) {
    collective.result().agreed &= !disagree;
    if (collective.hold_bad(p.chunk, disagree)) wake(&collective.record()->waiters(p.chunk));
  } else {
    const uint8_t asked = p.stage.kind == Stage::Kind::given ? p.exp : 0;
    if (L3DML_MUTATE(average_over_all)) weight = static_cast<uint16_t>(world_);
    if (collective.hold(p.chunk, lanes, exp, next_exp, weight, p.abstains, asked))
      wake(&collective.record()->waiters(p.chunk));
  }
  finish_chunk(position);
}

void WorkerCore::repeat(uint32_t position, Stage::Kind kind, uint8_t exp) {
  Position& p = positions_[position];
  ++stats_.repeats;
  p.stage.kind = kind;
  p.stage.exp = exp;
  ++p.stage.repeats;
  if (L3DML_MUTATE(repeat_skips_a_number)) p.next_number += config_.window;
  if (L3DML_MUTATE(repeat_after_what_is_queued) && collective_at(p.place + config_.window)) {
    stages_[p.place] = std::exchange(p.stage, {});
    p.place += config_.window;
    return take_chunk(position);
  }
  p.state = Position::State::ready;
  if (!p.urgent_queued) urgent_.push(position);
  p.urgent_queued = true;
}

void WorkerCore::finish_chunk(uint32_t position) {
  Position& p = positions_[position];
  ++stats_.chunks;
  any_finished_ |= p.collective->finished();
  if (!p.collective->waiters.empty()) wake(&p.collective->waiters);
  p.stage = {};
  const bool back = L3DML_MUTATE(repeat_after_what_is_queued) && stages_.contains(p.place - config_.window);
  p.place += back ? -uint64_t{config_.window} : config_.window;
  take_chunk(position);
}

void WorkerCore::queue_resend(uint32_t position) {
  Position& p = positions_[position];
  p.resend = true;
  if (!p.urgent_queued) urgent_.push(position);
  p.urgent_queued = true;
}

// Each sequence number is answered at most once, since a resend has a new one, and resends are rationed by
// first transmissions; so forged NACKs cannot amplify.
DropReason WorkerCore::on_nack(const wire::L3dmlHeader& header, unsigned shard) {
  ++stats_.nacks_received;
  Hole hole{header.seq.load(), header.number.load()};
  if (!up_[shard].clip(&hole)) return DropReason::nack_empty;
  bool any = false;
  for (uint32_t seq = hole.first; seq != hole.end; ++seq) {
    const uint32_t number = up_[shard].number(seq);
    const uint32_t position = position_of(number);
    Position& p = positions_[position];
    if (p.state != Position::State::flying || p.number != number || p.seq != seq || p.resend) continue;
    if (!up_[shard].take_repair()) return DropReason::nack_limited;
    ++stats_.nacked;
    queue_resend(position);
    any = true;
  }
  return any ? DropReason::none : DropReason::nack_not_held;
}

DropReason WorkerCore::on_answer(const wire::L3dmlHeader& header, int64_t now_ns) {
  const uint32_t number = header.number.load();
  const auto answer = cookies_.redeem(header.tag.load(), number, now_ns);
  if (!answer) return DropReason::stale;
  ++stats_.probes_answered;
  if (!answer->overtaken) segment_rtt_.sample(answer->round_trip_ns);
  if (answer->timing) return DropReason::none;
  const uint32_t position = position_of(number);
  Position& p = positions_[position];
  if (p.state != Position::State::flying || p.number != number) return DropReason::stale;
  if (header.weight.load() == 1) {
    last_answer_ = Missing::Why::others_missing;
    touch(position, true, now_ns);
  } else if (header.weight.load() == 0) {
    last_answer_ = Missing::Why::own_missing;
    ++stats_.probe_missing;
    quiet_rounds_ = 0;
    probe_credit_ = std::min(probe_credit_ + 2, ProbeCookies::kPlaces / 2);  // others may be missing as well
    if (!p.resend && !L3DML_MUTATE(missing_not_sent_again)) queue_resend(position);
  }
  return DropReason::none;
}

}  // namespace l3dml::host
