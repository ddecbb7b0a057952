// The controller's devices: reached, made to hold what they shall, tried again.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/install/install.h"
#include "control/install/startup.h"

namespace l3dml::control {
namespace {

constexpr int64_t kFirstPauseNs = 200'000'000, kLongestPauseNs = 5'000'000'000;
constexpr int64_t kLongestTickNs = 500'000'000;  // more between two ticks does not count against leases

}  // namespace

bool Controller::usable(SiteId site) const {
  const Device& device = *devices_[site];
  return topology_.sites()[site].aggregates && device.target != nullptr && device.target->connected();
}

void Controller::connect_device(SiteId site) {
  const SiteRecord& record = sites_[site];
  if (record.address.empty() || record.removed) return;
  take_target(site, options_.connect(record));
}

void Controller::take_target(SiteId site, absl::StatusOr<std::unique_ptr<target::SwitchTarget>> target) {
  Device& device = *devices_[site];
  const SiteRecord& record = sites_[site];
  device.stale = true;
  absl::Status status = target.status();
  if (target.ok()) {
    auto capability = read_capability(**target);
    status = capability.status();
    if (capability.ok()) {
      // Sizes are those of the first time, so that what was allocated stays allocated; they are kept for a
      // start at which the device cannot be reached.
      if (!device.known) {
        device.known = true;
        resources_[site] = DeviceResources(*capability);
        (void)remember("capability", record.name, nlohmann::json(*capability).dump());
      }
      device.target = *std::move(target);
      device.problem.clear();
      device.pause_ns = 0;
      event("device_up", record.name, record.address);
      return;
    }
  }
  failed(site, status);
}

// A device that did not do what it was asked: tried again later.
void Controller::failed(SiteId site, const absl::Status& why) {
  Device& device = *devices_[site];
  device.stale = true;
  const bool gone = device.target && !device.target->connected();
  if (device.problem.empty() || gone) event("device_down", sites_[site].name, std::string(why.message()));
  device.problem = std::string(why.message());
  if (device.lost_since_ns == 0) device.lost_since_ns = options_.now_ns();
  device.pause_ns = std::clamp(2 * device.pause_ns, kFirstPauseNs, kLongestPauseNs);
  device.next_try_ns = options_.now_ns() + device.pause_ns;
  if (gone) device.target.reset();  // its tables may be gone as well
}

absl::Status Controller::start_ports(SiteId site) {
  Device& device = *devices_[site];
  StartUp needs;
  needs.port = {sites_[site].speed, sites_[site].fec, true};
  for (const Host& host : topology_.hosts())
    if (host.site == site && host.present) needs.ports.push_back(host.port);
  for (const Step& step : topology_.steps(site))
    needs.ports.push_back(topology_.port_towards(site, step.link));
  std::sort(needs.ports.begin(), needs.ports.end());
  if (!device.stale && needs.ports == device.ports) return absl::OkStatus();
  std::vector<std::string> problems;
  const auto writes = start_device(*device.target, needs, &problems);
  if (!writes.ok()) return writes.status();
  if (*writes > 0) event("device_started", sites_[site].name, absl::StrCat(*writes, " writes"));
  for (const std::string& problem : problems)
    if (device.port_words.insert(problem).second) event("port_failed", sites_[site].name, problem);
  device.ports = needs.ports;
  return absl::OkStatus();
}

std::set<std::string> Controller::refresh(SiteId site) {
  std::set<std::string> forgotten;
  Device& device = *devices_[site];
  if (!device.target) return forgotten;
  if (absl::Status s = start_ports(site); !s.ok()) return failed(site, s), forgotten;
  auto installed = read_installed(*device.target);
  if (!installed.ok()) return failed(site, installed.status()), forgotten;
  std::set<EntryKey> keys;
  for (const Entry& entry : installed->entries) keys.insert(canonical(entry).key);
  DeviceEntries wanted = routes_[site];
  for (const auto& [name, job] : jobs_) {
    if (!job->live() || static_cast<size_t>(site) >= job->parts.size()) continue;
    const DeviceEntries& part = job->parts[site];
    wanted.append(part);
    const bool had_some = std::any_of(job->stripes.begin(), job->stripes.end(),
                                      [&](const Job::Stripe& s) { return s.ranges.contains(site); });
    const auto is_there = [&](const Entry& e) { return keys.contains(canonical(e).key); };
    if ((had_some && keys.empty()) ||  // what was being changed was not there anyway
        (!part.entries.empty() && std::none_of(part.entries.begin(), part.entries.end(), is_there)))
      forgotten.insert(name);
  }
  const auto writes = reconcile(*device.target, wanted, *installed);
  if (!writes.ok()) return failed(site, writes.status()), std::set<std::string>{};
  event("device_reconciled", sites_[site].name, absl::StrCat(*writes, " writes"));
  device.stale = false;
  device.problem.clear();
  device.lost_since_ns = device.pause_ns = 0;
  device.routes = routes_[site];
  for (const auto& [name, job] : jobs_)
    if (job->live() && static_cast<size_t>(site) < job->parts.size()) job->written[site] = job->parts[site];
  return forgotten;
}

absl::Status Controller::write(SiteId site, const DeviceEntries& before, const DeviceEntries& after) {
  const Change change = diff(before, after);
  if (change.empty()) return absl::OkStatus();
  Device& device = *devices_[site];
  if (!device.target || device.stale)
    return absl::UnavailableError(
        absl::StrCat("the switch of site ", sites_[site].name, " cannot be reached: ", device.problem));
  const absl::Status status = control::apply(*device.target, change);
  if (!status.ok()) failed(site, status);
  return status;
}

absl::Status Controller::write_part(Job& job, SiteId site) {
  const DeviceEntries& part = job.parts[site];
  DeviceEntries& written = job.written[site];
  const absl::Status status = write(site, written, part);
  if (status.ok()) written = part;
  return status;
}

void Controller::write_job(Job& job) {
  for (size_t site = 0; site < job.parts.size(); ++site) (void)write_part(job, static_cast<SiteId>(site));
}

void Controller::reach_devices() {
  std::vector<std::pair<SiteId, SiteRecord>> due;
  {
    const std::lock_guard lock(mutex_);
    const int64_t now_ns = options_.now_ns();
    for (size_t i = 0; i < devices_.size(); ++i) {
      Device& device = *devices_[i];
      if (sites_[i].address.empty() || sites_[i].removed) continue;
      if (device.target && !device.target->connected()) {
        failed(static_cast<SiteId>(i), absl::UnavailableError("the connection was lost"));
        device.next_try_ns = now_ns;
      }
      if (device.target || !device.stale || now_ns < device.next_try_ns) continue;
      due.emplace_back(static_cast<SiteId>(i), sites_[i]);
    }
  }
  // Without the lock: a switch that does not answer must not keep the others waiting.
  for (const auto& [site, record] : due) {
    auto target = options_.connect(record);
    const std::lock_guard lock(mutex_);
    if (!devices_[site]->target && !sites_[site].removed) take_target(site, std::move(target));
  }
}

// The coordinators learn that they may use the switch, and that what they asked of it meanwhile is done:
// refresh() has removed what was to be removed, what was to be installed is tried again (unless the switch
// forgot everything: then the change begins anew).
void Controller::switch_is_back(Job& job, SiteId site, bool restarted) {
  if (!job.record.attended) return;
  job.revise = true;
  const int64_t now_ns = options_.now_ns();
  for (uint32_t i = 0; i < job.stripes.size() && job.live(); ++i) {
    Job::Stripe& stripe = job.stripes[i];
    Coordinator& coordinator = *stripe.coordinator;
    coordinator.handle(SwitchReturned{static_cast<SwitchId>(site), restarted}, now_ns);
    if (const auto node = stripe.removals.extract(site))
      coordinator.handle(SwitchDone{node.mapped().change, static_cast<SwitchId>(site)}, now_ns);
    if (const auto node = stripe.installs.extract(site);
        node && coordinator.phase() == Coordinator::Phase::installing &&
        coordinator.change() == node.mapped().change)
      obey(job, i, node.mapped());
  }
  carry(job);
}

void Controller::renew_lease(Job& job, uint32_t rank) const {
  job.deadlines_ns[rank] = lease_clock_ns_ + static_cast<int64_t>(job.record.specification.lease_s * 1e9);
}

// A tick that comes late found us stopped, starved or waiting for a switch: nobody was heard meanwhile.
void Controller::count_leases(int64_t now_ns) {
  if (last_tick_ns_ >= 0) lease_clock_ns_ += std::min(now_ns - last_tick_ns_, kLongestTickNs);
  last_tick_ns_ = now_ns;
}

void Controller::tick() {
  reach_devices();
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = options_.now_ns();
  count_leases(now_ns);
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = *devices_[i];
    const auto site = static_cast<SiteId>(i);
    if (sites_[i].address.empty() || sites_[i].removed) continue;
    if (device.stale && device.target && now_ns >= device.next_try_ns) {
      const std::set<std::string> forgotten = refresh(site);
      if (!device.stale) {
        for (const auto& [name, job] : jobs_)
          if (job->live()) switch_is_back(*job, site, forgotten.contains(name));
        device.lost = false;
      }
    }
    if (device.lost_since_ns && !device.lost &&
        now_ns - device.lost_since_ns > static_cast<int64_t>(options_.switch_grace_s * 1e9)) {
      device.lost = true;
      for (const auto& [name, job] : jobs_)
        if (job->live()) tell_coordinators(*job, SwitchLost{static_cast<SwitchId>(site)});
    }
  }
  revise_one_job();
  for (const auto& [name, job] : jobs_) {
    if (!job->live()) continue;
    for (uint32_t rank = 0; rank < job->record.members.size() && job->live(); ++rank) {
      const MemberRecord& member = job->record.members[rank];
      if (!member.joined || member.left || member.lost || job->deadlines_ns[rank] > lease_clock_ns_) continue;
      lose_member(*job, rank, "its lease ran out");
    }
    bool due = false;
    for (Job::Stripe& stripe : job->stripes) {
      if (stripe.coordinator->next_deadline_ns() > now_ns) continue;
      stripe.coordinator->tick(now_ns);
      due = true;
    }
    if (due) carry(*job);
  }
}

}  // namespace l3dml::control
