// The controller's jobs: created, joined, kept alive by leases, ended.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/api/member_config.h"
#include "control/install/install.h"
#include "control/jobs/form.h"
#include "control/jobs/stamps.h"
#include "control/store/plan_json.h"

namespace l3dml::control {
namespace {

constexpr double kLeastLeaseS = 1;

absl::StatusOr<JobRequest> request_of(const Topology& topology, const JobSpecification& specification) {
  JobRequest request;
  request.name = specification.name;
  request.sizing.lanes = specification.lanes;
  for (const std::string& name : specification.hosts) {
    const HostId host = topology.find_host(name);
    if (host < 0) return absl::NotFoundError(absl::StrCat("there is no host ", name));
    request.members.push_back(host);
  }
  for (const auto& [name, share] : specification.roots) {
    const SiteId site = topology.find_site(name);
    if (site < 0) return absl::NotFoundError(absl::StrCat("there is no site ", name));
    request.stripes.push_back({site, share, {}});
  }
  if (!request.stripes.empty()) return request;
  auto form = choose_form(topology, request.members, request.sizing,
                          {.stripes = static_cast<int>(specification.stripes), .inner = true, .bytes = 4e6});
  if (!form.ok()) return form.status();
  request.stripes = *std::move(form);
  return request;
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

absl::Status Controller::save_job(const Job& job) {
  return remember("job", job.record.specification.name, nlohmann::json(job.record).dump());
}

absl::StatusOr<JobView> Controller::create_job(const JobSpecification& wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted.name.empty()) return absl::InvalidArgumentError("a job needs a name");
  if (wanted.hosts.empty()) return absl::InvalidArgumentError("a job needs hosts, one per rank");
  if (wanted.lease_s < kLeastLeaseS)
    return absl::InvalidArgumentError(
        absl::StrCat("a lease of ", wanted.lease_s, " s is too short: at least ", kLeastLeaseS));
  if (const auto found = jobs_.find(wanted.name); found != jobs_.end() && found->second->live()) {
    if (nlohmann::json(found->second->record.specification) != nlohmann::json(wanted))
      return absl::AlreadyExistsError(absl::StrCat(
          "job ", wanted.name, " runs already, and it is another: delete it, or choose another name"));
    JobView same = view(*found->second);
    same.token = found->second->record.token;
    return same;
  }
  auto request = request_of(topology_, wanted);
  if (!request.ok()) return request.status();
  if (65535 - next_job_ < static_cast<int>(request->stripes.size())) next_job_ = 1;
  request->first_job = next_job_;
  std::vector<DeviceResources> trial = resources_;
  auto plan = plan_job(topology_, *request, &trial);
  if (!plan.ok()) return plan.status();
  if (absl::Status s = start_numbers(&*plan); !s.ok()) return s;

  auto job = std::make_unique<Job>();
  job->record = {wanted, options_.new_token(), "waiting",
                 "",     to_json(*plan),       std::vector<MemberRecord>(wanted.hosts.size())};
  job->plan = *std::move(plan);
  job->deadlines_ns.assign(wanted.hosts.size(), 0);
  if (absl::Status s = save_job(*job); !s.ok()) return s;
  resources_ = std::move(trial);
  next_job_ = static_cast<uint16_t>(next_job_ + job->plan.stripes.size());
  JobView created = view(*job);
  created.token = job->record.token;
  const JobPlan& kept = job->plan;
  jobs_.insert_or_assign(wanted.name, std::move(job));
  event("job_created", wanted.name,
        absl::StrCat(wanted.hosts.size(), " ranks, ", kept.stripes.size(), " stripes, limited by ",
                     kept.limit));
  for (const StripePlan& stripe : kept.stripes)
    for (const Aggregator& node : stripe.tree.aggregators) refresh(node.site);
  return created;
}

absl::Status Controller::delete_job(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return absl::OkStatus();
  if (found->second->live()) end_job(*found->second, "deleted");
  if (absl::Status s = store_->write({{"job", name, nullptr}}); !s.ok()) return s;
  jobs_.erase(found);
  return absl::OkStatus();
}

void Controller::end_job(Job& job, const std::string& reason) {
  job.record.state = "ended";
  job.record.reason = reason;
  job.record.plan.clear();
  (void)save_job(job);  // what fails here is found again at the next start: its leases run out then
  event("job_ended", job.record.specification.name, reason);
  release_job(job.plan, &resources_);
  for (const StripePlan& stripe : job.plan.stripes)
    for (const Aggregator& node : stripe.tree.aggregators) refresh(node.site);
}

absl::StatusOr<Controller::Job*> Controller::admitted(const std::string& name, const std::string& token) {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return absl::NotFoundError(absl::StrCat("there is no job ", name));
  if (found->second->record.token != token)
    return absl::PermissionDeniedError(absl::StrCat("this is not the token of job ", name));
  return found->second.get();
}

absl::StatusOr<MembershipView> Controller::join(const std::string& name, const std::string& token,
                                                const std::string& host) {
  const std::lock_guard lock(mutex_);
  const auto found = admitted(name, token);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (!job.live())
    return absl::FailedPreconditionError(absl::StrCat("job ", name, " has ended: ", job.record.reason));
  auto& members = job.record.members;
  const auto& hosts = job.record.specification.hosts;
  size_t rank = 0;
  while (rank < hosts.size() && (hosts[rank] != host || members[rank].joined)) ++rank;
  if (rank == hosts.size())
    return absl::NotFoundError(absl::StrCat(
        "job ", name, " waits for no ",
        std::find(hosts.begin(), hosts.end(), host) == hosts.end() ? "" : "further ", "rank on host ", host));
  members[rank].joined = true;
  job.deadlines_ns[rank] = options_.now_ns() + static_cast<int64_t>(job.record.specification.lease_s * 1e9);
  if (std::all_of(members.begin(), members.end(), [](const MemberRecord& m) { return m.joined; }))
    job.record.state = "running";
  if (absl::Status s = save_job(job); !s.ok()) return s;
  event("member_joined", name, absl::StrCat("rank ", rank, " on host ", host));
  return MembershipView{static_cast<uint32_t>(rank), static_cast<uint32_t>(hosts.size()),
                        member_config(topology_, job.plan, static_cast<int>(rank)),
                        job.record.specification.lease_s};
}

absl::StatusOr<JobView> Controller::renew(const std::string& name, const std::string& token, uint32_t rank) {
  const std::lock_guard lock(mutex_);
  const auto found = admitted(name, token);
  if (!found.ok()) return found.status();
  Job& job = **found;
  if (rank >= job.record.members.size() || !job.record.members[rank].joined)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " of job ", name, " has not joined"));
  job.deadlines_ns[rank] = options_.now_ns() + static_cast<int64_t>(job.record.specification.lease_s * 1e9);
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
  if (std::all_of(job.record.members.begin(), job.record.members.end(),
                  [](const MemberRecord& m) { return m.left; }))
    end_job(job, "all ranks have left");
  return absl::OkStatus();
}

JobView Controller::view(const Job& job) const {
  JobView v{job.record.specification.name,
            job.record.state,
            job.record.reason,
            "",
            static_cast<uint32_t>(job.record.members.size()),
            0,
            job.plan};
  for (const MemberRecord& m : job.record.members) v.joined += m.joined && !m.left;
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
