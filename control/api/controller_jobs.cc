// The controller's jobs: created, joined, kept alive by leases, ended.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/api/fault.h"
#include "control/api/job_request.h"
#include "control/api/member_config.h"
#include "control/install/install.h"
#include "control/jobs/stamps.h"
#include "control/store/plan_json.h"

namespace l3dml::control {
namespace {

constexpr double kLeastLeaseS = 1, kLeastTimeoutS = 1;
constexpr uint32_t kLeastMtu = 1280;  // IPv6

absl::Status check(const JobSpecification& wanted) {
  if (wanted.name.empty()) return absl::InvalidArgumentError("a job needs a name");
  if (wanted.hosts.empty()) return absl::InvalidArgumentError("a job needs hosts, one per rank");
  if (!(wanted.lease_s >= kLeastLeaseS))
    return absl::InvalidArgumentError(
        absl::StrCat("a lease of ", wanted.lease_s, " s is too short: at least ", kLeastLeaseS));
  if (!(wanted.timeout_s >= kLeastTimeoutS))
    return absl::InvalidArgumentError(
        absl::StrCat("a time-out of ", wanted.timeout_s, " s is too short: at least ", kLeastTimeoutS));
  if (wanted.mtu < kLeastMtu)
    return absl::InvalidArgumentError(
        absl::StrCat("an MTU of ", wanted.mtu, " is too small: at least ", kLeastMtu));
  if (wanted.lanes > (wanted.mtu - 72) / 4)
    return absl::InvalidArgumentError(absl::StrCat(wanted.lanes, " lanes do not fit an MTU of ", wanted.mtu,
                                                   ": at most ", (wanted.mtu - 72) / 4 / 64 * 64));
  return absl::OkStatus();
}

}  // namespace

// Newer than every stamp that the devices hold in the job's ranges; where serial order has no such number,
// the stamps are overwritten. Nothing of the job is admitted yet.
absl::Status Controller::start_numbers(JobPlan* plan) {
  for (StripePlan& stripe : plan->stripes) {
    std::vector<Stamps> ranges;
    for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
      const SiteId site = stripe.tree.aggregators[a].site;
      if (!devices_[site]->target)
        return absl::UnavailableError(absl::StrCat("the switch of site ", topology_.sites()[site].name,
                                                   " cannot be reached: ", devices_[site]->problem));
      auto cells = devices_[site]->target->read_registers("pipe.Ingress.slot_state.stamp",
                                                          stripe.aggregators[a].slot_base, stripe.ring);
      if (!cells.ok()) return cells.status();
      Stamps range{true, 0, 0};
      bool first = true;
      for (const auto& pipes : *cells)
        for (const target::Cell& cell : pipes) {
          const auto stamp = static_cast<uint32_t>(cell.first);
          if (first) range.oldest = range.newest = stamp;
          first = false;
          if (static_cast<int32_t>(stamp - range.newest) > 0) range.newest = stamp;
          if (static_cast<int32_t>(stamp - range.oldest) < 0) range.oldest = stamp;
        }
      ranges.push_back(range);
    }
    const FirstNumber first = choose_first_number(ranges, stripe.ring * stripe.shards, 0);
    stripe.first_number = first.number;
    for (size_t a = 0; a < stripe.aggregators.size(); ++a)
      if (first.overwrite[a])
        if (absl::Status s = write_stamps(*devices_[stripe.tree.aggregators[a].site]->target,
                                          stripe.aggregators[a].slot_base, stripe.ring, first.number - 1);
            !s.ok())
          return s;
  }
  const auto segments = neighbors_of(topology_, *plan);
  for (size_t site = 0; site < segments.size(); ++site)
    if (!segments[site].empty())
      if (absl::Status s = zero_segments(*devices_[site]->target, segments[site]); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status Controller::save_job(Job& job) {
  job.version = ++version_;
  changed_.notify_all();
  return remember("job", job.record.specification.name, nlohmann::json(job.record).dump());
}

absl::StatusOr<JobView> Controller::create_job(const JobSpecification& wanted) {
  const std::lock_guard lock(mutex_);
  if (absl::Status s = check(wanted); !s.ok()) return s;
  if (const auto found = jobs_.find(wanted.name); found != jobs_.end() && found->second->live()) {
    if (nlohmann::json(found->second->record.specification) != nlohmann::json(wanted))
      return absl::AlreadyExistsError(absl::StrCat(
          "job ", wanted.name, " runs already, and it is another: end it, or choose another name"));
    JobView same = view(*found->second);
    same.token = found->second->record.token;
    return same;
  }
  const auto job = begin_job(wanted, options_.new_token(), {});
  if (!job.ok()) return job.status();
  JobView created = view(**job);
  created.token = (*job)->record.token;
  return created;
}

absl::StatusOr<Controller::Job*> Controller::begin_job(const JobSpecification& wanted,
                                                       const std::string& token,
                                                       const std::vector<std::string>& groups) {
  ChosenForm form;
  auto request = request_of(topology_, resources_, wanted, options_.forms.get(), &form);
  if (!request.ok()) return request.status();
  if (65535 - next_job_ < static_cast<int>(request->stripes.size())) next_job_ = 1;
  request->first_job = next_job_;
  auto plan = plan_job(topology_, *request, &resources_);  // takes nothing on error
  if (!plan.ok()) return plan.status();
  const auto give_back = [&](const absl::Status& why) {
    release_job(*plan, &resources_);
    return why;
  };
  if (absl::Status s = start_numbers(&*plan); !s.ok()) return give_back(s);

  auto job = std::make_unique<Job>();
  job->record.specification = wanted;
  job->record.token = token;
  job->record.groups = groups;
  job->record.state = "waiting";
  job->record.plan = to_json(*plan);
  job->record.form_source = form.source;
  job->record.form_why = form.why;
  job->record.members.resize(wanted.hosts.size());
  job->attendants.resize(wanted.hosts.size());
  job->deadlines_ns.assign(wanted.hosts.size(), 0);
  job->plan = *plan;
  job->stripes.resize(job->plan.stripes.size());
  if (absl::Status s = save_job(*job); !s.ok()) return give_back(s);
  die_here_if_told("create.stored");
  next_job_ = static_cast<uint16_t>(next_job_ + job->plan.stripes.size());
  make_coordinators(*job);
  job->sized_bps = rate_of(*job, topology_, present_members(*job), running_form(*job));
  compile(*job);
  write_job(*job);
  die_here_if_told("create.written");
  const JobPlan& kept = job->plan;
  event(groups.empty() ? "job_created" : "job_begun_anew", wanted.name,
        absl::StrCat(wanted.hosts.size(), " ranks, ", kept.stripes.size(), " stripes, limited by ",
                     kept.limit));
  return jobs_.insert_or_assign(wanted.name, std::move(job)).first->second.get();
}

absl::StatusOr<Controller::Job*> Controller::with_group(Job& job, const std::string& group) {
  const std::string name = job.record.specification.name;
  std::vector<std::string>& groups = job.record.groups;
  if (group.empty() || (!groups.empty() && groups.back() == group)) return &job;
  if (std::find(groups.begin(), groups.end(), group) != groups.end())
    return absl::FailedPreconditionError(
        absl::StrCat("another group of processes has job ", name, " now: this one was given up"));
  if (job.live() && std::none_of(job.record.members.begin(), job.record.members.end(),
                                 [](const MemberRecord& m) { return m.joined; })) {
    groups.push_back(group);
    if (absl::Status s = save_job(job); !s.ok()) return s;
    return &job;
  }
  if (!job.live() && !job.record.by_loss) return &job;
  for (const Job::Attendant& attendant : job.attendants)
    if (job.live() && attendant.attendance != 0)
      return absl::UnavailableError(
          absl::StrCat("job ", name, " runs already, with another group of processes"));
  if (job.live()) finish_job(job, "its ranks were started again", true);
  std::vector<std::string> more = groups;
  more.push_back(group);
  return begin_job(JobSpecification(job.record.specification), std::string(job.record.token), more);
}

absl::Status Controller::end_job(const std::string& name, bool forget) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return absl::OkStatus();
  if (found->second->live()) finish_job(*found->second, "ended by its owner");
  if (!forget) return absl::OkStatus();
  if (absl::Status s = store_->write({{"job", name, nullptr}}); !s.ok()) return s;
  jobs_.erase(found);
  return absl::OkStatus();
}

void Controller::finish_job(Job& job, const std::string& reason, bool by_loss) {
  for (uint32_t rank = 0; rank < job.attendants.size(); ++rank)
    if (const MemberRecord& member = job.record.members[rank]; !member.left && !member.lost)
      to_member(job, rank, {0, 0, FailMember{rank, reason}, "", false});
  for (size_t site = 0; site < sites_.size(); ++site)
    for (StatisticsView::Segment& segment : segments_of(job, static_cast<SiteId>(site)))
      job.last_segments.push_back(std::move(segment));
  job.record.state = "ended";
  job.record.reason = reason;
  job.record.by_loss = by_loss;
  job.record.plan.clear();
  job.record.next.clear();
  (void)save_job(job);  // what fails here is found again at the next start: its leases run out then
  die_here_if_told("end.stored");
  event("job_ended", job.record.specification.name, reason);
  for (size_t i = 0; i < job.stripes.size(); ++i)
    release_stripe(job.stripes[i].next ? *job.stripes[i].next : job.plan.stripes[i], &resources_);
  job.stripes.clear();
  for (DeviceEntries& part : job.parts) part = {};
  write_job(job);
}

void Controller::end_if_all_left(Job& job) {
  bool any_left = false;
  for (const MemberRecord& member : job.record.members) {
    if (!member.left && !member.lost) return;
    any_left |= member.left;
  }
  finish_job(job, any_left ? "all ranks have left" : "all ranks are lost", !any_left);
}

absl::StatusOr<Controller::Job*> Controller::admitted(const std::string& name, const std::string& token) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return absl::NotFoundError(absl::StrCat("there is no job ", name));
  if (found->second->record.token != token)
    return absl::PermissionDeniedError(absl::StrCat("this is not the token of job ", name));
  return found->second.get();
}

absl::StatusOr<MembershipView> Controller::join(const JoinCall& call) {
  const std::lock_guard lock(mutex_);
  auto found = admitted(call.job, call.token);
  if (found.ok()) found = with_group(**found, call.group);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (!job.live())
    return absl::FailedPreconditionError(absl::StrCat("job ", call.job, " has ended: ", job.record.reason));
  auto& members = job.record.members;
  const auto& hosts = job.record.specification.hosts;
  std::string host = call.host;
  for (size_t h = 0; host.empty() && h < hosts_.size(); ++h)
    if (std::find(call.addresses.begin(), call.addresses.end(),
                  text(topology_.address(static_cast<HostId>(h)))) != call.addresses.end())
      host = hosts_[h].name;
  if (host.empty())
    return absl::NotFoundError(absl::StrCat(
        "none of this machine's addresses is a host's: give it the address that `l3dmlctl hosts` shows, "
        "or name the host"));
  if (call.rank >= static_cast<int>(hosts.size()))
    return absl::NotFoundError(
        absl::StrCat("job ", call.job, " has ranks 0 to ", hosts.size() - 1, ", not ", call.rank));
  if (call.rank >= 0 && hosts[call.rank] != host)
    return absl::NotFoundError(absl::StrCat("rank ", call.rank, " of job ", call.job, " is at host ",
                                            hosts[call.rank], ", not at ", host));
  // The rank this process has already, else a free one; one that was lost comes back.
  const auto fits = [&](size_t r) {
    return hosts[r] == host && (call.rank < 0 || call.rank == static_cast<int>(r));
  };
  size_t rank = 0;
  while (rank < hosts.size() && !(fits(rank) && members[rank].joined && !call.instance.empty() &&
                                  members[rank].instance == call.instance))
    ++rank;
  const bool again = rank < hosts.size() && !members[rank].left && !members[rank].lost;
  if (!again) {
    rank = 0;
    while (rank < hosts.size() && !(fits(rank) && (!members[rank].joined || members[rank].lost))) ++rank;
  }
  if (rank == hosts.size()) {
    // A process that was started again may be here before the one before it is given up.
    for (size_t r = 0; r < hosts.size(); ++r)
      if (fits(r) && job.record.attended && members[r].joined && !members[r].left &&
          job.attendants[r].attendance == 0)
        return absl::UnavailableError(absl::StrCat("rank ", r, " of job ", call.job, " on host ", host,
                                                   " is not given up yet: its lease still runs"));
    return absl::NotFoundError(absl::StrCat(
        "job ", call.job, " waits for no ",
        std::find(hosts.begin(), hosts.end(), host) == hosts.end() ? "" : "further ", "rank on host ", host));
  }
  const bool comes_back = members[rank].lost;
  if (!again) {
    members[rank] = {true, false, false, comes_back, call.instance, ""};
    job.attendants[rank] = {};
    if (job.record.state == "waiting" &&
        std::all_of(members.begin(), members.end(), [](const MemberRecord& m) { return m.joined; }))
      job.record.state = "running";
    if (absl::Status s = save_job(job); !s.ok()) return s;
    die_here_if_told("join.stored");
    event("member_joined", call.job, absl::StrCat("rank ", rank, " on host ", host));
  }
  renew_lease(job, rank);
  return MembershipView{static_cast<uint32_t>(rank),
                        static_cast<uint32_t>(hosts.size()),
                        member_config(topology_, job.plan, static_cast<int>(rank),
                                      job.record.specification.timeout_s, job.record.specification.mtu),
                        host,
                        job.record.specification.lease_s,
                        members[rank].starting || job.plan.stripes.front().members[rank].aggregator < 0};
}

absl::StatusOr<JobView> Controller::renew(const std::string& name, const std::string& token, uint32_t rank) {
  const std::lock_guard lock(mutex_);
  const auto found = admitted(name, token);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (rank >= job.record.members.size() || !job.record.members[rank].joined)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " of job ", name, " has not joined"));
  renew_lease(job, rank);
  return view(job);
}

absl::Status Controller::leave(const std::string& name, const std::string& token, uint32_t rank) {
  const std::lock_guard lock(mutex_);
  const auto found = admitted(name, token);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (rank >= job.record.members.size())
    return absl::InvalidArgumentError(absl::StrCat("job ", name, " has no rank ", rank));
  if (job.record.members[rank].left || !job.live()) return absl::OkStatus();
  job.record.members[rank].joined = job.record.members[rank].left = true;
  if (absl::Status s = save_job(job); !s.ok()) return s;
  event("member_left", name, absl::StrCat("rank ", rank));
  if (job.starting.erase(rank) + job.waiting_to_start.erase(rank))
    tell_coordinators(job, MemberLost{rank, "it has left"});
  end_if_all_left(job);
  return absl::OkStatus();
}

void Controller::lose_member(Job& job, uint32_t rank, const std::string& reason) {
  const std::string& name = job.record.specification.name;
  const std::string text =
      absl::StrCat("rank ", rank, " on host ", job.record.specification.hosts[rank], " is gone: ", reason);
  job.record.members[rank].lost = true;
  job.starting.erase(rank);
  job.waiting_to_start.erase(rank);
  job.record.members[rank].why = reason;
  event("member_lost", name, text);
  if (job.record.specification.on_loss == OnLoss::end || !job.record.attended)
    return finish_job(job, text, true);
  if (absl::Status s = save_job(job); !s.ok()) event("store_failed", name, std::string(s.message()));
  die_here_if_told("loss.stored");
  end_if_all_left(job);
  if (job.live()) tell_coordinators(job, MemberLost{rank, text});
}

JobView Controller::view(const Job& job) const {
  JobView v;
  v.name = job.record.specification.name;
  v.state = job.record.state;
  if (job.in_change()) v.state = "changing";
  v.reason = job.record.reason;
  v.world = static_cast<uint32_t>(job.record.members.size());
  v.changes = job.changes;
  v.plan = job.plan;
  v.on_loss = job.record.specification.on_loss;
  v.form_source = job.record.form_source;
  v.form_why = job.record.form_why;
  v.version = job.version;
  for (size_t rank = 0; rank < job.record.members.size(); ++rank) {
    const MemberRecord& m = job.record.members[rank];
    v.joined += m.joined && !m.left && !m.lost;
    v.members.push_back({job.record.specification.hosts[rank], m.lost   ? "lost"
                                                               : m.left ? "left"
                                                               : job.attendants[rank].attendance != 0
                                                                   ? "attending"
                                                               : m.joined ? "joined"
                                                                          : "awaited"});
  }
  static constexpr const char* kPhases[] = {"idle",       "pausing",  "removing", "fetching", "delivering",
                                            "installing", "resuming", "running",  "ended"};
  for (const Job::Stripe& stripe : job.stripes)
    v.phases.emplace_back(kPhases[static_cast<size_t>(stripe.coordinator->phase())]);
  return v;
}

absl::StatusOr<JobView> Controller::job(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return absl::NotFoundError(absl::StrCat("there is no job ", name));
  return view(*found->second);
}

std::vector<JobView> Controller::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobView> views;
  for (const auto& [name, job] : jobs_) views.push_back(view(*job));
  return views;
}

}  // namespace l3dml::control
