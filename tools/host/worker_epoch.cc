// The member's side of an epoch change (DESIGN section 5, "Changing a running job").
#include <algorithm>

#include "dataplane/base/mutation.h"
#include "dataplane/kernels/lanes.h"
#include "fmt/format.h"
#include "tools/host/open_collective.h"
#include "tools/host/worker_core.h"

namespace l3dml::host {

void WorkerCore::pause() { paused_ = true; }

StripeReport WorkerCore::report() const {
  StripeReport r;
  r.epoch = config_.epoch;
  r.held.resize(config_.window);
  for (uint32_t i = 0; i < config_.window; ++i) {
    const bool repeat = positions_[i].stage.kind != Stage::Kind::fresh;
    if (results_.entry(i).held && !(L3DML_MUTATE(repeats_not_reported) && repeat))
      r.held[i] = results_.entry(i).number;
  }
  r.collectives_begun = begun_collectives_;
  r.collectives_finished = open_.empty() ? next_collective_ : open_.front()->index();
  r.chunks_begun = begun_chunks_;
  return r;
}

std::optional<ResultCopy> WorkerCore::copy(uint32_t number) const {
  const uint32_t position = position_of(number);
  const ResultStore::Entry& entry = results_.entry(position);
  if (!entry.held || entry.number != number) return std::nullopt;
  ResultCopy copy{number, entry.exp, entry.next_exp, entry.weight, {}};
  copy.lanes.resize(config_.lanes);
  kernels::lane_kernels().set(copy.lanes.data(), results_.lanes(position), config_.lanes);
  return copy;
}

absl::Status WorkerCore::install(const ResultCopy& copy) {
  if (!paused_) return absl::FailedPreconditionError("install: the stripe is not paused");
  if (copy.lanes.size() != config_.lanes)
    return absl::InvalidArgumentError(fmt::format("install: result {} has {} lanes, the stripe {}",
                                                  copy.number, copy.lanes.size(), config_.lanes));
  const uint32_t position = position_of(copy.number);
  const Position& p = positions_[position];
  const ResultStore::Entry& entry = results_.entry(position);
  if (entry.held && !base::serial_newer(copy.number, entry.number)) return absl::OkStatus();
  if (p.state != Position::State::flying || p.number != copy.number)
    return absl::FailedPreconditionError(fmt::format("install: number {} was not sent here", copy.number));
  std::vector<uint8_t> lanes(size_t{config_.lanes} * 4);
  kernels::lane_kernels().emit(lanes.data(), copy.lanes.data(), config_.lanes);
  if (L3DML_MUTATE(copies_not_installed)) return absl::OkStatus();
  hold(position, copy.exp, copy.next_exp, copy.weight, lanes.data());
  finish_collectives();
  return absl::OkStatus();
}

absl::Status WorkerCore::withdraw() {
  if (!paused_) return absl::FailedPreconditionError("withdraw: the stripe is not paused");
  for (const auto& collective : open_) {
    if (collective->begun || collective->chunks_left() != collective->chunks())
      return absl::FailedPreconditionError(fmt::format(
          "withdraw: collective {} is begun; stop before it and let it end first", collective->index()));
  }
  if (open_.empty()) return absl::OkStatus();
  end_place_ = open_.front()->first_place();
  next_collective_ = open_.front()->index();
  open_.clear();
  stages_.clear();
  for (Position& p : positions_) {
    p.state = Position::State::idle;
    p.collective = nullptr;
  }
  return absl::OkStatus();
}

absl::Status WorkerCore::resume(const StripeConfig& config, std::optional<StartingPoint> start) {
  if (absl::Status status = validate(config, "stripe"); !status.ok()) return status;
  if (!paused_) return absl::FailedPreconditionError("resume: the stripe is not paused");
  if (config.lanes != config_.lanes || config.look_ahead != config_.look_ahead || config.job != config_.job)
    return absl::InvalidArgumentError(
        "resume: job, lanes and look_ahead stay the same for the life of a job");
  if (start) {
    if (!open_.empty())
      return absl::FailedPreconditionError("resume: a joiner starts before its first collective");
    next_collective_ = begun_collectives_ = start->collective;
    end_place_ = begun_chunks_ = start->chunk;
  }
  // Results to be repeated are results: what they told stays with their chunks.
  for (const Position& p : positions_) {
    if (p.collective && p.stage.kind != Stage::Kind::fresh) stages_[p.place] = p.stage;
  }
  if (config.rate_bps != config_.rate_bps) pacer_ = Pacer(config.rate_bps);
  config_ = config;
  if (L3DML_MUTATE(window_twice_as_large)) config_.window *= 2;
  start_epoch();
  // Predictions start anew, so that members and joiners know the same: only results of this epoch count.
  if (!L3DML_MUTATE(history_outlives_epoch)) history_.clear();
  for (auto& collective : open_) {
    collective->waiters.clear();
    if (collective->integer()) continue;
    std::shared_ptr<ExponentRecord> previous;
    auto record = history_.open(collective->request(), collective->predicted_chunks(), &previous);
    collective->set_records(std::move(record), std::move(previous));
    for (uint32_t chunk = 0; chunk < collective->predicted_chunks(); ++chunk) {
      if (collective->held(chunk)) collective->record()->add_unknown(chunk);
    }
  }
  paused_ = false;
  // In the order of places, so that they are sent in this order.
  const uint64_t base = open_.empty() ? end_place_ : open_.front()->first_place();
  for (uint64_t place = base; place < base + config_.window; ++place)
    take_chunk(static_cast<uint32_t>(place & (config_.window - 1)));
  return absl::OkStatus();
}

}  // namespace l3dml::host
