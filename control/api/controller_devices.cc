// The controller's devices: reached, made to hold what they shall, tried again.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/install/install.h"

namespace l3dml::control {
namespace {

constexpr int64_t kFirstPauseNs = 200'000'000, kLongestPauseNs = 5'000'000'000;

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

std::set<std::string> Controller::refresh(SiteId site) {
  std::set<std::string> forgotten;
  Device& device = *devices_[site];
  if (!device.target) return forgotten;
  auto installed = read_installed(*device.target);
  if (!installed.ok()) return failed(site, installed.status()), forgotten;
  std::set<EntryKey> keys;
  for (const Entry& entry : installed->entries) keys.insert(canonical(entry).key);
  DeviceEntries wanted = routes_[site];
  for (const auto& [name, job] : jobs_) {
    if (!job->live() || static_cast<size_t>(site) >= job->parts.size()) continue;
    const DeviceEntries& part = job->parts[site];
    wanted.append(part);
    if (!part.entries.empty() && std::none_of(part.entries.begin(), part.entries.end(), [&](const Entry& e) {
          return keys.contains(canonical(e).key);
        }))
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

void Controller::tick() {
  reach_devices();
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = options_.now_ns();
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = *devices_[i];
    const auto site = static_cast<SiteId>(i);
    if (sites_[i].address.empty() || sites_[i].removed) continue;
    if (device.stale && device.target && now_ns >= device.next_try_ns) {
      const std::set<std::string> forgotten = refresh(site);
      if (!device.stale) {
        for (const auto& [name, job] : jobs_)
          if (job->live() && (forgotten.contains(name) || device.lost))
            tell_coordinators(*job, SwitchReturned{static_cast<SwitchId>(site), forgotten.contains(name)});
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
  for (const auto& [name, job] : jobs_) {
    if (!job->live()) continue;
    for (uint32_t rank = 0; rank < job->record.members.size() && job->live(); ++rank) {
      const MemberRecord& member = job->record.members[rank];
      if (!member.joined || member.left || member.lost || job->deadlines_ns[rank] > now_ns) continue;
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
