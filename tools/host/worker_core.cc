#include "tools/host/worker_core.h"

#include <algorithm>
#include <bit>

#include "dataplane/base/mutation.h"
#include "fmt/format.h"
#include "tools/host/open_collective.h"

namespace l3dml::host {

WorkerCore::WorkerCore(const StripeConfig& config, uint32_t world, ResultCallback on_result,
                       StartingPoint start)
    : config_(config),
      world_(world),
      on_result_(std::move(on_result)),
      next_collective_(start.collective),
      end_place_(start.chunk),
      begun_collectives_(start.collective),
      begun_chunks_(start.chunk),
      urgent_(config.window),
      ready_(config.window),
      results_(config.window, config.lanes),
      pacer_(config.rate_bps),
      cookies_(config.first_number ^ uint32_t{config.child} << 24) {
  if (L3DML_MUTATE(window_twice_as_large)) config_.window *= 2;
  start_epoch();
}

WorkerCore::~WorkerCore() = default;

// Positions begin with the oldest place that may not be held: all before the oldest open collective are.
void WorkerCore::start_epoch() {
  const uint32_t window = config_.window;
  positions_.assign(window, {});
  flight_.clear();
  confirmed_.clear();
  urgent_ = PositionQueue(window);
  ready_ = PositionQueue(window);
  results_ = ResultStore(window, config_.lanes);
  flying_.assign(config_.shards, 0);
  up_.assign(config_.shards, UpSegment(std::max(64u, 4 * window / config_.shards)));
  down_.assign(config_.shards, {});
  nacks_.clear();
  next_sync_ns_ = base::kNever;
  segment_rtt_ = {};
  result_time_ = {};
  cookies_ = ProbeCookies(config_.first_number ^ uint32_t{config_.child} << 24);
  round_probes_ = 0;
  quiet_rounds_ = unanswered_ = 0;
  round_end_ns_ = timing_due_ns_ = last_result_ns_ = newest_answered_ns_ = 0;
  timing_number_ = 0;
  last_answer_ = Missing::Why::unanswered;
  const uint64_t base = open_.empty() ? end_place_ : open_.front()->first_place();
  for (uint64_t place = base; place < base + window; ++place) {
    Position& p = positions_[place & (window - 1)];
    p.place = place;
    p.next_number = config_.first_number + static_cast<uint32_t>(place & (window - 1));
  }
}

OpenCollective* WorkerCore::collective_at(uint64_t place) {
  const auto after = std::upper_bound(
      open_.begin(), open_.end(), place,
      [](uint64_t wanted, const std::unique_ptr<OpenCollective>& c) { return wanted < c->first_place(); });
  if (after == open_.begin()) return nullptr;
  OpenCollective* found = std::prev(after)->get();
  return place < found->end_place() ? found : nullptr;
}

void WorkerCore::take_chunk(uint32_t position) {
  Position& p = positions_[position];
  p.collective = nullptr;
  p.state = Position::State::idle;
  // Places that are held already exist after an epoch change alone.
  for (; p.place < end_place_; p.place += config_.window) {
    OpenCollective* collective = collective_at(p.place);
    if (!collective) continue;  // finished
    const auto chunk = static_cast<uint32_t>(p.place - collective->first_place());
    if (collective->held(chunk)) continue;
    p.collective = collective;
    p.chunk = chunk;
    p.decided = p.abstains = false;
    if (const auto stage = stages_.find(p.place); stage != stages_.end()) {
      p.stage = stage->second;
      stages_.erase(stage);
    }
    make_ready(position);
    return;
  }
}

void WorkerCore::make_ready(uint32_t position) {
  Position& p = positions_[position];
  if (stop_before_ && p.collective->index() >= *stop_before_) {
    p.state = Position::State::stopped;
    return;
  }
  p.state = Position::State::ready;
  if (!p.ready_queued) ready_.push(position);
  p.ready_queued = true;
}

void WorkerCore::wake(std::vector<uint32_t>* waiters) {
  for (const uint32_t position : *waiters) {
    if (positions_[position].state == Position::State::blocked) make_ready(position);
  }
  waiters->clear();
}

absl::Status WorkerCore::submit(const Collective& request) {
  const kernels::Codec codec(request.type, request.format, world_);
  if (!codec.usable())
    return absl::InvalidArgumentError(
        fmt::format("this lane format cannot sum {} workers; use fixed32 or fixed16x2", world_));
  const uint64_t chunks = OpenCollective::count_chunks(request, config_.lanes);
  if (chunks > UINT32_MAX) return absl::InvalidArgumentError("tensor has more than 2^32 chunks; split it");
  open_.push_back(std::make_unique<OpenCollective>(request, world_, config_.lanes, config_.look_ahead,
                                                   next_collective_++, end_place_));
  OpenCollective& collective = *open_.back();
  if (chunks == 0) {
    any_finished_ = true;
    finish_collectives();
    return absl::OkStatus();
  }
  if (!collective.integer()) {
    std::shared_ptr<ExponentRecord> previous;
    auto record = history_.open(request, collective.predicted_chunks(), &previous);
    collective.set_records(std::move(record), std::move(previous));
  }
  const uint64_t first = end_place_;
  end_place_ += chunks;
  for (uint64_t i = 0; i < std::min<uint64_t>(chunks, config_.window); ++i) {
    const auto position = static_cast<uint32_t>((first + i) & (config_.window - 1));
    if (positions_[position].state == Position::State::idle && !paused_) take_chunk(position);
  }
  return absl::OkStatus();
}

void WorkerCore::finish_collectives() {
  // A callback may submit: look anew after each. They end in any order, but are reported in order of
  // submission.
  if (!any_finished_) return;
  any_finished_ = false;
  for (size_t i = 0; i < open_.size();) {
    if (!open_[i]->finished()) {
      ++i;
      continue;
    }
    CollectiveResult result = open_[i]->result();
    begun_collectives_ = std::max(begun_collectives_, open_[i]->index() + 1);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    on_result_(result);
  }
}

void WorkerCore::set_stop_before(std::optional<uint64_t> collective) {
  stop_before_ = collective;
  for (uint32_t i = 0; i < config_.window; ++i) {
    if (positions_[i].state == Position::State::stopped) make_ready(i);
  }
}

void WorkerCore::abandon() {
  open_.clear();
  stages_.clear();
  history_.clear();
  paused_ = true;
  start_epoch();
}

uint32_t WorkerCore::in_flight() const {
  uint32_t sum = 0;
  for (const uint32_t flying : flying_) sum += flying;
  return sum;
}

Missing WorkerCore::missing(uint64_t id) const {
  Missing m;
  for (const auto& collective : open_) {
    if (collective->request().id != id) continue;
    m.chunks = collective->chunks_left();
    m.of = collective->chunks();
    const Position* oldest = nullptr;
    for (const Position& p : positions_) {
      if (p.state != Position::State::flying || p.collective != collective.get()) continue;
      ++m.sent;
      if (!oldest || p.place < oldest->place) oldest = &p;
    }
    if (oldest) {
      m.first_number = oldest->number;
      m.first_element = collective->element(oldest->chunk);
      m.why = last_answer_;
    }
  }
  return m;
}

const WorkerStats& WorkerCore::stats() const {
  stats_.segment_rtt_ns = segment_rtt_.smoothed_ns();
  stats_.result_time_ns = result_time_.known() ? result_time_.least_ns() : 0;
  stats_.probe_time_ns = probe_time_ns();
  return stats_;
}

}  // namespace l3dml::host
