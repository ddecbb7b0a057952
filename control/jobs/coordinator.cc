// Reports: what each one changes, and when the step that waits for it is through.
#include "control/jobs/coordinator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "control/jobs/mutation.h"

namespace l3dml::control {

Coordinator::Coordinator(const CoordinatorConfig& config, Planner* planner, const std::set<MemberId>& members,
                         const std::set<SwitchId>& switches)
    : config_(config),
      planner_(planner),
      deadline_ns_(std::numeric_limits<int64_t>::max()),
      epoch_(config.epoch),
      newest_epoch_(config.epoch),
      newest_number_(config.newest_number),
      members_(members) {
  for (SwitchId id : switches) switches_[id].stamps = config.stamps;
}

void Coordinator::start(int64_t now_ns) {
  now_ns_ = now_ns;
  if (phase_ == Phase::idle) begin_pause();
}

void Coordinator::adopt(const EpochPlan& plan, uint8_t epoch, uint8_t newest_epoch, uint32_t first_number) {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::running;
  plan_ = plan;
  epoch_ = epoch;
  newest_epoch_ = newest_epoch;
  first_number_ = first_number;
  newest_number_ = first_number - 1;
  final_.assign(plan.window, std::nullopt);
  for (SwitchId id : plan.switches) {
    Switch& which = switches_[id];
    which.stamps.known = which.clean = false;
    which.follows_epoch = true;
  }
}

void Coordinator::heard_change(uint32_t change, int64_t now_ns) {
  if (change <= change_) return;
  now_ns_ = now_ns;
  change_ = change;
  if (in_change()) begin_pause();  // what was asked for so far looks stale to that member
}

void Coordinator::handle(const Report& report, int64_t now_ns) {
  now_ns_ = now_ns;
  if (phase_ == Phase::ended) {  // a latecomer is told, else it would wait for ever
    if (const auto* joins = std::get_if<MemberJoins>(&report))
      commands_.emplace_back(FailMember{joins->member, end_reason_});
    return;
  }
  std::visit([this](const auto& r) { on(r); }, report);
}

void Coordinator::tick(int64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns < deadline_ns_) return;
  const std::set<uint32_t> silent = std::exchange(waiting_, {});
  if (phase_ == Phase::removing) {  // left out of the new trees; nothing else depends on them
    if (L3DML_MUTATE(silent_switch_used)) return next_if_all_answered();
    for (SwitchId id : silent) switches_[id].reachable = false;
    return next_if_all_answered();
  }
  if (phase_ == Phase::installing) {
    for (SwitchId id : silent) switches_[id].reachable = false;
    return begin_pause();
  }
  const bool again = phase_ != Phase::pausing;
  for (MemberId id : silent) drop_member(id, "did not answer in time while the job changed");
  if (again) return begin_pause();
  next_if_all_answered();
}

int64_t Coordinator::next_deadline_ns() const { return deadline_ns_; }

std::vector<Command> Coordinator::take_commands() { return std::exchange(commands_, {}); }

void Coordinator::on(const MemberPaused& report) {
  if (!waiting_.contains(report.member) || phase_ != Phase::pausing || report.change != change_) return;
  reports_[report.member] = report;
  if (L3DML_MUTATE(pause_not_awaited)) waiting_.clear();
  waiting_.erase(report.member);
  next_if_all_answered();
}

void Coordinator::on(const SwitchDone& report) {
  if (phase_ != Phase::removing && phase_ != Phase::installing) return;
  if (!answered(phase_, report.change, report.from)) return;
  Switch& which = switches_[report.from];
  if (phase_ == Phase::removing) {
    which.clean = true;
  } else if (!which.stamps.known) {  // it was told to overwrite them
    which.stamps = {true, next_first_number_ - 1, next_first_number_ - 1};
  }
  if (phase_ == Phase::installing) which.follows_epoch = true;
  next_if_all_answered();
}

void Coordinator::on(const CopiesFetched& report) {
  if (!answered(Phase::fetching, report.change, report.holder)) return;
  for (const ResultCopy& copy : report.copies) copies_[copy.number] = copy;
  next_if_all_answered();
}

void Coordinator::on(const CopiesDelivered& report) {
  if (answered(Phase::delivering, report.change, report.member)) next_if_all_answered();
}

void Coordinator::on(const MemberResumed& report) {
  if (!answered(Phase::resuming, report.change, report.member)) return;
  starts_.erase(report.member);
  next_if_all_answered();
}

void Coordinator::on(const MemberDrained& report) {
  if (report.change != change_) return;
  undrained_.erase(report.member);
  if (phase_ == Phase::running && undrained_.empty() && !joiners_.empty() && !stopped_) begin_pause();
}

void Coordinator::on(const MemberLost& report) {
  // The last joiner is gone: whoever stopped for it goes on.
  if (joiners_.erase(report.member) && joiners_.empty() && stop_before_) on(ChangeWanted{});
  if (!members_.contains(report.member)) return;
  drop_member(report.member, report.reason);
  waiting_.erase(report.member);
  if (L3DML_MUTATE(member_loss_ignored)) return;
  if (phase_ == Phase::pausing) return next_if_all_answered();
  if (phase_ != Phase::idle) begin_pause();
}

void Coordinator::on(const MemberJoins& report) {
  if (members_.contains(report.member)) return;
  joiners_.insert(report.member);
  if (phase_ == Phase::running) begin_pause();
}

void Coordinator::on(const SwitchLost& report) {
  const auto it = switches_.find(report.from);
  if (it == switches_.end()) return;
  it->second.reachable = false;
  if (phase_ == Phase::removing && waiting_.erase(report.from)) return next_if_all_answered();
  if (phase_ >= Phase::installing && in_plan(report.from) && !L3DML_MUTATE(switch_loss_ignored))
    begin_pause();
}

void Coordinator::on(const SwitchReturned& report) {
  Switch& which = switches_[report.from];
  which.reachable = true;
  if (!report.restarted) return;
  // The news may be older than what was installed since, so it says nothing about admission: removal is asked
  // for as ever. Stamps are 0 or, if the restart lies before the epoch, what the epoch wrote: newest_number_
  // covers that.
  which.stamps = {true, 0, 0};
  which.follows_epoch = false;
  if (phase_ == Phase::removing && waiting_.contains(report.from))
    commands_.emplace_back(RemoveAdmission{change_, report.from});
  if (phase_ >= Phase::installing && in_plan(report.from) && !L3DML_MUTATE(switch_restart_ignored))
    begin_pause();
}

void Coordinator::on(const ChangeWanted&) {
  if (phase_ == Phase::running) return begin_pause();
  change_wanted_ =
      phase_ == Phase::installing || phase_ == Phase::resuming;  // before that the planner is yet to be asked
}

bool Coordinator::answered(Phase phase, uint32_t change, uint32_t who) {
  return phase_ == phase && change == change_ && waiting_.erase(who) == 1;
}

void Coordinator::next_if_all_answered() {
  if (!waiting_.empty()) return;
  if (members_.empty()) return end("no member is left");
  switch (phase_) {
    case Phase::pausing:
      return begin_remove();
    case Phase::removing:
      return begin_fetch();
    case Phase::fetching:
      return begin_deliver();
    case Phase::delivering:
      return begin_install();
    case Phase::installing:
      return begin_resume();
    case Phase::resuming:
      return begin_running();
    default:
      return;
  }
}

void Coordinator::drop_member(MemberId member, const std::string& reason) {
  members_.erase(member);
  reports_.erase(member);
  starts_.erase(member);
  undrained_.erase(member);
  if (!L3DML_MUTATE(lost_member_not_told)) commands_.emplace_back(FailMember{member, reason});
}

bool Coordinator::in_plan(SwitchId which) const {
  const EpochPlan& plan = phase_ == Phase::installing ? next_plan_ : plan_;
  return std::find(plan.switches.begin(), plan.switches.end(), which) != plan.switches.end();
}

}  // namespace l3dml::control
