// Epoch changes of jobs whose members attend: what coordinators say is carried to members and devices, what
// those answer back to the coordinators. Every step is stored before it is taken where a controller that
// comes after us must know of it: a plan and its epoch before it is installed, and again before anybody
// resumes in it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/api/fault.h"
#include "control/api/member_config.h"
#include "control/install/install.h"
#include "control/store/plan_json.h"

namespace l3dml::control {
namespace {

std::string next_json(const JobPlan& plan, const StripePlan& next) {
  JobPlan one = plan;
  one.stripes = {next};
  return to_json(one);
}

EpochPlan epoch_plan(const StripePlan& stripe) {
  EpochPlan plan;
  for (size_t rank = 0; rank < stripe.members.size(); ++rank)
    if (stripe.members[rank].aggregator >= 0) plan.members.push_back(static_cast<MemberId>(rank));
  for (const Aggregator& node : stripe.tree.aggregators)
    plan.switches.push_back(static_cast<SwitchId>(node.site));
  plan.window = stripe.window;
  plan.ring = stripe.ring;
  plan.shards = stripe.shards;
  return plan;
}

bool changing(Coordinator::Phase phase) {
  return phase > Coordinator::Phase::idle && phase < Coordinator::Phase::running;
}

}  // namespace

bool Controller::Job::in_change() const {
  return std::any_of(stripes.begin(), stripes.end(), [](const Stripe& stripe) {
    return stripe.coordinator && changing(stripe.coordinator->phase());
  });
}

void Controller::make_coordinators(Job& job) {
  std::set<MemberId> members;
  for (size_t rank = 0; rank < job.record.members.size(); ++rank)
    if (const MemberRecord& m = job.record.members[rank]; !m.left && !m.lost && !m.starting)
      members.insert(static_cast<MemberId>(rank));
  std::set<SwitchId> switches;
  for (size_t site = 0; site < sites_.size(); ++site)
    if (!sites_[site].address.empty()) switches.insert(static_cast<SwitchId>(site));
  for (uint32_t i = 0; i < job.stripes.size(); ++i) {
    const StripePlan& plan = job.plan.stripes[i];
    Job::Stripe& stripe = job.stripes[i];
    CoordinatorConfig config;
    config.stamps.known = false;
    config.answer_time_ns = static_cast<int64_t>(job.record.specification.lease_s * 1e9);
    stripe.planner = std::make_unique<StripePlanner>(this, &job, i);
    stripe.coordinator = std::make_unique<Coordinator>(config, stripe.planner.get(), members, switches);
    stripe.coordinator->adopt(epoch_plan(plan), plan.epoch, stripe.next ? stripe.next->epoch : plan.epoch,
                              plan.first_number);
    const StripePlan& newest = stripe.next ? *stripe.next : plan;
    for (size_t a = 0; a < newest.aggregators.size(); ++a)
      stripe.ranges[newest.tree.aggregators[a].site] = {newest.aggregators[a].slot_base, newest.ring};
  }
}

void Controller::compile(Job& job) {
  JobPlan plan = job.plan;
  for (size_t i = job.stripes.size(); i-- > 0;) {
    const Job::Stripe& stripe = job.stripes[i];
    if (stripe.withdrawn)
      plan.stripes.erase(plan.stripes.begin() + static_cast<std::ptrdiff_t>(i));
    else if (stripe.next)
      plan.stripes[i] = *stripe.next;
  }
  std::vector<uint32_t> pipes;
  for (const DeviceResources& device : resources_) pipes.push_back(device.capability.pipes);
  job.parts = compile_job(topology_, plan, pipes);
}

absl::StatusOr<uint64_t> Controller::attach(const std::string& name, const std::string& token, uint32_t rank,
                                            const std::vector<Standing>& standings, Send send) {
  const std::lock_guard lock(mutex_);
  const auto found = admitted(name, token);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (!job.live())
    return absl::FailedPreconditionError(absl::StrCat("job ", name, " has ended: ", job.record.reason));
  if (rank >= job.record.members.size() || !job.record.members[rank].joined)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " of job ", name, " has not joined"));
  if (job.record.members[rank].lost)
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " of job ", name, " was given up: ", job.record.members[rank].why));
  if (standings.size() != job.stripes.size())
    return absl::InvalidArgumentError(
        absl::StrCat("job ", name, " has ", job.stripes.size(), " stripes, not ", standings.size()));
  if (!job.record.attended) {
    job.record.attended = true;
    if (absl::Status s = save_job(job); !s.ok()) return s;
  }
  Job::Attendant& attendant = job.attendants[rank];
  attendant.attendance = ++attendance_count_;
  attendant.send = std::move(send);
  const int64_t now_ns = options_.now_ns();
  renew_lease(job, rank);
  job.version = ++version_;
  for (uint32_t i = 0; i < standings.size(); ++i) {
    Coordinator& coordinator = *job.stripes[i].coordinator;
    coordinator.heard_change(standings[i].change, now_ns);
    if (!coordinator.members().contains(rank)) {
      if (!job.starting.contains(rank)) job.waiting_to_start.insert(rank);
      continue;
    }
    if (const auto last = attendant.last.find(i); changing(coordinator.phase()) &&
                                                  last != attendant.last.end() &&
                                                  last->second.change == coordinator.change()) {
      attendant.send(last->second);  // perhaps it was not heard
    } else if (coordinator.phase() == Coordinator::Phase::running &&
               (standings[i].paused || standings[i].epoch != coordinator.epoch())) {
      coordinator.handle(ChangeWanted{}, now_ns);  // a controller before us died in the middle of a change
    }
  }
  carry(job);
  return attendant.attendance;
}

void Controller::report(const std::string& name, uint32_t rank, uint64_t attendance, uint32_t stripe,
                        const Report& report) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || !found->second->live() || rank >= found->second->attendants.size()) return;
  Job& job = *found->second;
  if (job.attendants[rank].attendance != attendance || stripe >= job.stripes.size()) return;
  renew_lease(job, rank);
  job.stripes[stripe].coordinator->handle(report, options_.now_ns());
  carry(job);
}

void Controller::renew_attended(const std::string& name, uint32_t rank, uint64_t attendance,
                                double round_trip_s, double result_s) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || rank >= found->second->attendants.size()) return;
  Job& job = *found->second;
  if (job.attendants[rank].attendance != attendance) return;
  renew_lease(job, rank);
  job.attendants[rank].round_trip_s = round_trip_s;
  job.attendants[rank].result_s = result_s;
}

void Controller::detach(const std::string& name, uint32_t rank, uint64_t attendance) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || rank >= found->second->attendants.size()) return;
  Job& job = *found->second;
  Job::Attendant& attendant = job.attendants[rank];
  if (attendant.attendance != attendance) return;
  attendant.attendance = 0;
  attendant.send = nullptr;
  // A process that died closes its stream at once, one that lost us comes back at once.
  job.deadlines_ns[rank] =
      std::min(job.deadlines_ns[rank], lease_clock_ns_ + static_cast<int64_t>(options_.detach_grace_s * 1e9));
  job.version = ++version_;
  changed_.notify_all();
}

void Controller::to_member(Job& job, uint32_t rank, ToMember message) {
  Job::Attendant& attendant = job.attendants[rank];
  if (attendant.send) attendant.send(message);
  attendant.last[message.stripe] = std::move(message);
}

void Controller::tell_coordinators(Job& job, const Report& report) {
  if (!job.record.attended) return;  // nobody would answer
  for (Job::Stripe& stripe : job.stripes) stripe.coordinator->handle(report, options_.now_ns());
  carry(job);
}

void Controller::carry(Job& job) {
  for (bool more = true; more && job.live();) {
    more = carry_joiners(job);
    for (uint32_t i = 0; i < job.stripes.size() && job.live(); ++i) {
      for (const Command& command : job.stripes[i].coordinator->take_commands()) {
        more = true;
        obey(job, i, command);
        if (!job.live()) break;
      }
    }
    for (const Job::Stripe& stripe : job.stripes)
      if (job.live() && stripe.coordinator->phase() == Coordinator::Phase::ended) {
        finish_job(job, absl::StrCat("a change of the job failed: ", stripe.coordinator->end_reason()), true);
        break;
      }
  }
  if (!job.live() || job.told_changing == job.in_change()) return;
  job.told_changing = !job.told_changing;
  job.version = ++version_;
  const std::string& name = job.record.specification.name;
  if (job.told_changing) return event("job_changing", name, "");
  ++job.changes;
  job.sized_bps = rate_of(job, usable_topology(), present_members(job), running_form(job));
  const StripePlan& stripe = job.plan.stripes.front();
  event("job_changed", name,
        absl::StrCat("epoch ", stripe.epoch, ", ", epoch_plan(stripe).members.size(), " ranks"));
}

void Controller::obey(Job& job, uint32_t index, const Command& command) {
  Job::Stripe& stripe = job.stripes[index];
  Coordinator& coordinator = *stripe.coordinator;
  const int64_t now_ns = options_.now_ns();
  const auto answer = [&](const Report& report) { coordinator.handle(report, now_ns); };
  const auto to = [&](MemberId rank, uint32_t change) {
    to_member(job, rank, {index, change, command, "", false});
  };
  if (const auto* pause = std::get_if<PauseMember>(&command)) {
    const MemberRecord& member = job.record.members[pause->member];
    if (member.left || member.lost)
      return answer(MemberLost{pause->member, member.left ? "it has left" : "it is gone"});
    to(pause->member, pause->change);
    return die_here_if_told("pause.told");
  }
  if (const auto* fetch = std::get_if<FetchCopies>(&command)) {
    to(fetch->holder, fetch->change);
    return die_here_if_told("fetch.told");
  }
  if (const auto* deliver = std::get_if<DeliverCopies>(&command)) {
    to(deliver->member, deliver->change);
    return die_here_if_told("deliver.told");
  }
  if (const auto* fail = std::get_if<FailMember>(&command)) {
    MemberRecord& member = job.record.members[fail->member];
    if (member.left || coordinator.phase() == Coordinator::Phase::ended)
      return;  // all are told by finish_job
    to_member(job, fail->member, {index, coordinator.change(), command, "", false});
    if (!member.lost) lose_member(job, fail->member, fail->reason);
    return;
  }
  if (const auto* remove = std::get_if<RemoveAdmission>(&command)) {
    const auto site = static_cast<SiteId>(remove->to);
    stripe.withdrawn = true;
    compile(job);
    const absl::Status status = write_part(job, site);
    if (status.ok() && devices_[site]->target && !devices_[site]->stale) {
      die_here_if_told("remove.written");
      return answer(SwitchDone{remove->change, remove->to});
    }
    // It may be back at once, as when we have just started. tick() says when it is lost, the coordinator when
    // that took too long.
    stripe.removals[site] = *remove;
    return;
  }
  if (const auto* install = std::get_if<InstallAdmission>(&command)) {
    const absl::Status status = install_stripe(job, index, *install);
    if (status.ok()) return answer(SwitchDone{install->change, install->to});
    event("device_down", sites_[install->to].name, std::string(status.message()));
    stripe.installs[static_cast<SiteId>(install->to)] = *install;
    return;
  }
  const auto& resume = std::get<ResumeMember>(command);
  if (stripe.next) {  // the first to resume: from here on the new epoch is what there is
    job.plan.stripes[index] = *stripe.next;
    stripe.next.reset();
    job.record.plan = to_json(job.plan);
    if (index < job.record.next.size()) job.record.next[index].clear();
    if (absl::Status s = save_job(job); !s.ok())
      event("store_failed", job.record.specification.name, std::string(s.message()));
    die_here_if_told("resume.stored");
  }
  ToMember message{index, resume.change, command, "", false};
  message.config = stripe_config(topology_, job.plan, job.plan.stripes[index],
                                 static_cast<int>(resume.member), job.record.specification.mtu);
  message.joiner = resume.first_collective != 0 || resume.first_chunk != 0;
  to_member(job, resume.member, std::move(message));
  die_here_if_told("resume.told");
}

absl::Status Controller::install_stripe(Job& job, uint32_t index, const InstallAdmission& command) {
  Job::Stripe& stripe = job.stripes[index];
  const auto site = static_cast<SiteId>(command.to);
  StripePlan& next = *stripe.next;
  if (next.epoch != command.epoch || next.first_number != command.first_number) {
    next.epoch = command.epoch;
    next.first_number = command.first_number;
    job.record.next.resize(job.stripes.size());
    job.record.next[index] = next_json(job.plan, next);
    if (absl::Status s = save_job(job); !s.ok()) return s;
    die_here_if_told("install.stored");
  }
  stripe.withdrawn = false;
  compile(job);
  Device& device = *devices_[site];
  if (!device.target || device.stale)
    return absl::UnavailableError(absl::StrCat("cannot be reached: ", device.problem));
  JobPlan one = job.plan;
  one.stripes = {next};
  absl::Status status = zero_segments(*device.target, neighbors_of(topology_, one)[site]);
  for (size_t a = 0; status.ok() && command.overwrite_stamps && a < next.aggregators.size(); ++a)
    if (next.tree.aggregators[a].site == site)
      status = write_stamps(*device.target, next.aggregators[a].slot_base, next.ring, next.first_number - 1);
  if (!status.ok()) return failed(site, status), status;
  die_here_if_told("install.zeroed");
  status = write_part(job, site);
  die_here_if_told("install.written");
  return status;
}

std::optional<EpochPlan> Controller::replan(Job& job, uint32_t index, const std::set<MemberId>& members,
                                            const std::set<SwitchId>& switches) {
  Job::Stripe& stripe = job.stripes[index];
  Topology topology = topology_;
  for (size_t site = 0; site < sites_.size(); ++site)
    if (!switches.contains(static_cast<SwitchId>(site)) || !usable(static_cast<SiteId>(site)))
      topology.set_aggregates(static_cast<SiteId>(site), false);
  const StripePlan& taken = stripe.next ? *stripe.next : job.plan.stripes[index];
  std::vector<SiteId> roots;
  for (const StripeRequest& running : running_form(job)) roots.push_back(running.root);
  for (size_t i = 0; i < roots.size(); ++i)
    if (job.stripes[i].wanted_root >= 0) roots[i] = job.stripes[i].wanted_root;
  std::vector<DeviceResources> trial = resources_;
  release_stripe(taken, &trial);
  SizingOptions sizing;
  sizing.lanes = job.plan.lanes;
  auto next = replan_stripe(topology, job.plan, index, roots, {members.begin(), members.end()}, sizing,
                            {job.record.specification.inner, 2}, &trial);
  if (!next.ok()) {
    event("no_plan", job.record.specification.name, std::string(next.status().message()));
    return std::nullopt;
  }
  resources_ = std::move(trial);
  next->epoch = taken.epoch;  // until the coordinator says which
  stripe.next = *std::move(next);
  EpochPlan plan = epoch_plan(*stripe.next);
  for (size_t a = 0; a < stripe.next->aggregators.size(); ++a) {
    const SiteId site = stripe.next->tree.aggregators[a].site;
    const std::pair range{stripe.next->aggregators[a].slot_base, stripe.next->ring};
    if (const auto known = stripe.ranges.find(site); known == stripe.ranges.end() || known->second != range)
      plan.moved.push_back(static_cast<SwitchId>(site));
    stripe.ranges[site] = range;
  }
  return plan;
}

}  // namespace l3dml::control
