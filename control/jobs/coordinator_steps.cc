// The steps of a change, in the order they are taken.
#include <algorithm>
#include <limits>
#include <utility>

#include "control/jobs/coordinator.h"
#include "control/jobs/mutation.h"

namespace l3dml::control {
namespace {

bool newer(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

void Coordinator::begin_pause() {
  phase_ = Phase::pausing;
  ++change_;
  change_wanted_ = false;
  reports_.clear();
  copies_.clear();
  if (members_.empty()) return end("no member is left");
  waiting_ = members_;
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  for (MemberId member : members_) commands_.emplace_back(PauseMember{change_, member});
}

void Coordinator::begin_remove() {
  phase_ = Phase::removing;
  unite_reports();
  account_stamps();
  waiting_.clear();
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  for (const auto& [id, which] : switches_) {
    if (!which.reachable || which.clean || L3DML_MUTATE(both_epochs_admitted)) continue;
    waiting_.insert(id);
    commands_.emplace_back(RemoveAdmission{change_, id});
  }
  if (L3DML_MUTATE(removal_not_awaited)) waiting_.clear();
  next_if_all_answered();
}

void Coordinator::begin_fetch() {
  phase_ = Phase::fetching;
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  std::map<MemberId, std::set<uint32_t>> from;
  for (const auto& [member, numbers] : lacking_) {
    for (uint32_t number : numbers) {
      const auto holder = std::find_if(reports_.begin(), reports_.end(), [&](const auto& report) {
        const auto& held = report.second.held;
        return report.second.epoch == epoch_ && std::find(held.begin(), held.end(), number) != held.end();
      });
      from[L3DML_MUTATE(copies_of_the_first_asked) ? reports_.begin()->first : holder->first].insert(
          number);  // the union came from these very reports: somebody holds it
    }
  }
  for (const auto& [holder, numbers] : from) {
    waiting_.insert(holder);
    commands_.emplace_back(FetchCopies{change_, holder, {numbers.begin(), numbers.end()}});
  }
  next_if_all_answered();
}

void Coordinator::begin_deliver() {
  phase_ = Phase::delivering;
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  for (const auto& [member, numbers] : lacking_) {
    DeliverCopies command{change_, member, {}};
    for (uint32_t number : numbers) {
      const auto copy = copies_.find(number);
      if (copy == copies_.end()) {  // a holder that does not hold: its report cannot be trusted, nor it
        const auto holder = std::find_if(reports_.begin(), reports_.end(), [&](const auto& report) {
          return std::find(report.second.held.begin(), report.second.held.end(), number) !=
                 report.second.held.end();
        });
        drop_member(holder->first, "did not hand out a result it reported to hold");
        return begin_pause();
      }
      command.copies.push_back(copy->second);
    }
    waiting_.insert(member);
    commands_.emplace_back(std::move(command));
  }
  next_if_all_answered();
}

void Coordinator::begin_install() {
  phase_ = Phase::installing;
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  std::set<MemberId> members = members_;
  if (joiners_may_start()) {
    for (MemberId joiner : joiners_)
      starts_[joiner] =
          L3DML_MUTATE(joiner_starts_from_the_first) ? Start{0, 0} : Start{join_at_, begun_.chunk};
    members.insert(joiners_.begin(), joiners_.end());
  }
  std::set<SwitchId> usable;
  for (const auto& [id, which] : switches_) {
    const bool clean = which.clean || L3DML_MUTATE(silent_switch_used) ||
                       L3DML_MUTATE(both_epochs_admitted) || L3DML_MUTATE(removal_not_awaited);
    if (which.reachable && clean) usable.insert(id);
  }
  std::optional<EpochPlan> plan = planner_->plan(members, usable);
  if (!plan) return end("no aggregation tree is possible with the members and switches that are left");
  next_plan_ = std::move(*plan);

  std::vector<Stamps> ranges;
  for (SwitchId id : next_plan_.switches) {
    Stamps& stamps = switches_[id].stamps;
    if (std::find(next_plan_.moved.begin(), next_plan_.moved.end(), id) != next_plan_.moved.end())
      stamps.known = false;
    ranges.push_back(stamps);
  }
  const FirstNumber first = choose_first_number(ranges, next_plan_.ring * next_plan_.shards, newest_number_);
  next_first_number_ = first.number;
  if (!L3DML_MUTATE(epoch_number_used_again)) ++newest_epoch_;
  for (size_t i = 0; i < next_plan_.switches.size(); ++i) {
    const SwitchId id = next_plan_.switches[i];
    switches_[id].clean = switches_[id].follows_epoch = false;
    if (first.overwrite[i]) switches_[id].stamps.known = false;  // until it confirms
    waiting_.insert(id);
    commands_.emplace_back(
        InstallAdmission{change_, id, newest_epoch_, next_first_number_, first.overwrite[i]});
  }
  if (L3DML_MUTATE(install_not_awaited)) waiting_.clear();
  next_if_all_answered();
}

void Coordinator::begin_resume() {
  phase_ = Phase::resuming;
  deadline_ns_ = now_ns_ + config_.answer_time_ns;
  plan_ = next_plan_;
  epoch_ = newest_epoch_;
  first_number_ = next_first_number_;
  newest_number_ = first_number_ - 1;
  final_.assign(plan_.window, std::nullopt);
  undrained_.clear();
  for (MemberId member : plan_.members) {
    joiners_.erase(member);
    members_.insert(member);
    const auto start = starts_.find(member);
    const Start at = start == starts_.end() ? Start{0, 0} : start->second;
    commands_.emplace_back(ResumeMember{change_, member, epoch_, first_number_, plan_.window, at.collective,
                                        at.chunk, stop_before_});
    waiting_.insert(member);
    if (stop_before_ && !stopped_) undrained_.insert(member);
  }
  next_if_all_answered();
}

void Coordinator::begin_running() {
  phase_ = Phase::running;
  deadline_ns_ = std::numeric_limits<int64_t>::max();
  if (change_wanted_ || (!joiners_.empty() && undrained_.empty() && !stopped_)) begin_pause();
}

void Coordinator::end(const std::string& reason) {
  phase_ = Phase::ended;
  end_reason_ = reason;
  deadline_ns_ = std::numeric_limits<int64_t>::max();
  waiting_.clear();
  members_.insert(joiners_.begin(), joiners_.end());
  for (MemberId member : members_) commands_.emplace_back(FailMember{member, reason});
  members_.clear();
}

void Coordinator::unite_reports() {
  // A member that never resumed in this epoch reports an older one. Nothing of this epoch can then be final,
  // since its contribution is missing everywhere, so "holds nothing" is the truth about it.
  final_.assign(plan_.window, std::nullopt);
  for (const auto& [member, report] : reports_) {
    if (report.epoch != epoch_) continue;
    for (size_t p = 0; p < std::min(final_.size(), report.held.size()); ++p) {
      if (report.held[p] &&
          (!final_[p] || newer(*report.held[p], *final_[p]) != L3DML_MUTATE(oldest_report_is_final)))
        final_[p] = report.held[p];
    }
  }
  lacking_.clear();
  for (const auto& [member, report] : reports_) {
    for (size_t p = 0; p < final_.size(); ++p) {
      const bool has = report.epoch == epoch_ && p < report.held.size() && report.held[p] == final_[p];
      if (final_[p] && !has) lacking_[member].push_back(*final_[p]);
    }
  }
  if (L3DML_MUTATE(copies_not_handed_out)) lacking_.clear();
  begun_ = {0, 0};
  for (const auto& [member, report] : reports_) {
    begun_.collective = std::max(begun_.collective, report.collectives_begun);
    begun_.chunk = std::max(begun_.chunk, report.chunks_begun);
  }
}

void Coordinator::account_stamps() {
  if (plan_.window == 0) return;  // nothing ran yet
  uint32_t lowest = first_number_ - 1, highest = first_number_ - 1;
  bool first = true;
  for (size_t p = 0; p < final_.size(); ++p) {
    // Of a position, everything up to what is final has passed every switch; before anything is, nothing has.
    const uint32_t held = final_[p] ? *final_[p] : first_number_ - 1;
    if (first || newer(lowest, held)) lowest = held;
    if (newer(held, highest)) highest = held;
    first = false;
  }
  // n + W is sent only when n is held; a member that is gone may have held one more than anybody reports.
  const uint32_t newest = highest + (L3DML_MUTATE(numbers_in_flight_forgotten) ? 0 : 2 * plan_.window);
  const uint32_t entries = plan_.ring * plan_.shards;
  for (SwitchId id : plan_.switches) {
    Switch& which = switches_[id];
    if (which.follows_epoch && which.stamps.known)
      which.stamps = after_epoch(which.stamps, first_number_, lowest, newest, entries);
  }
  if (newer(newest, newest_number_)) newest_number_ = newest;
}

bool Coordinator::joiners_may_start() {
  stop_before_.reset();
  stopped_ = false;
  if (joiners_.empty()) return false;
  const auto all = [this](const auto& holds) {
    return std::all_of(reports_.begin(), reports_.end(), [&](const auto& report) {
      return starts_.contains(report.first) || holds(report.second);
    });
  };
  const bool done = all([this](const MemberPaused& report) {
    return report.collectives_begun == begun_.collective && report.collectives_finished == begun_.collective;
  });
  const Planner::JoinPoint point = planner_->join_point(begun_.collective, done);
  join_at_ = point.collective;
  if (L3DML_MUTATE(joiner_starts_at_once)) return true;
  // Beyond the point there may be collectives of which this stripe has no chunk.
  if (point.agreed &&
      all([&](const MemberPaused& report) { return report.collectives_finished >= point.collective; }))
    return true;
  stop_before_ = point.collective;
  stopped_ = done && begun_.collective == point.collective;
  return false;
}

}  // namespace l3dml::control
