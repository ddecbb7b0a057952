// The controller's devices: reached, made to hold what they shall, tried again.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/install/install.h"
#include "control/routing/routes.h"

namespace l3dml::control {
namespace {

constexpr int64_t kFirstPauseNs = 200'000'000, kLongestPauseNs = 5'000'000'000;

}  // namespace

void Controller::connect_device(SiteId site) {
  Device& device = *devices_[site];
  const SiteRecord& record = sites_[site];
  if (record.address.empty()) return;
  device.stale = true;
  auto target = options_.connect(record);
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
  if (device.problem.empty()) event("device_down", record.name, std::string(status.message()));
  device.problem = std::string(status.message());
  device.pause_ns = std::clamp(2 * device.pause_ns, kFirstPauseNs, kLongestPauseNs);
  device.next_try_ns = options_.now_ns() + device.pause_ns;
}

void Controller::refresh(SiteId site) {
  Device& device = *devices_[site];
  if (!device.target) return;
  DeviceEntries wanted = baseline_routes(topology_)[site];
  for (const auto& [name, job] : jobs_)
    if (job->live()) wanted.append(compile_job(topology_, job->plan)[site]);
  const auto writes = reconcile(*device.target, wanted);
  device.stale = !writes.ok();
  if (writes.ok()) {
    device.problem.clear();
    return;
  }
  device.problem = std::string(writes.status().message());
  device.pause_ns = std::clamp(2 * device.pause_ns, kFirstPauseNs, kLongestPauseNs);
  device.next_try_ns = options_.now_ns() + device.pause_ns;
  if (!device.target->connected()) {
    event("device_down", sites_[site].name, device.problem);
    device.target.reset();
  }
}

void Controller::refresh_all() {
  for (size_t site = 0; site < devices_.size(); ++site) refresh(static_cast<SiteId>(site));
}

std::vector<DeviceView> Controller::devices() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceView> views;
  for (size_t site = 0; site < sites_.size(); ++site) {
    if (sites_[site].address.empty()) continue;
    const DeviceResources& r = resources_[site];
    views.push_back({sites_[site], devices_[site]->target != nullptr && devices_[site]->target->connected(),
                     devices_[site]->problem, r.capability.slots, r.slots.free_count(), r.capability.pipes});
  }
  return views;
}

void Controller::tick() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = options_.now_ns();
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = *devices_[i];
    const auto site = static_cast<SiteId>(i);
    if (sites_[i].address.empty()) continue;
    if (device.target && !device.target->connected()) {
      event("device_down", sites_[i].name, "the connection was lost");
      device.target.reset();  // its tables may be gone as well
      device.stale = true;
    }
    if (!device.stale || now_ns < device.next_try_ns) continue;
    if (!device.target) connect_device(site);
    refresh(site);
  }
  for (const auto& [name, job] : jobs_) {
    if (!job->live()) continue;
    for (size_t rank = 0; rank < job->record.members.size(); ++rank) {
      const MemberRecord& member = job->record.members[rank];
      if (!member.joined || member.left || job->deadlines_ns[rank] > now_ns) continue;
      const std::string text = absl::StrCat("rank ", rank, " on host ", job->record.specification.hosts[rank],
                                            " is gone: its lease ran out");
      event("lease_lost", name, text);
      end_job(*job, text);
      break;
    }
  }
}

}  // namespace l3dml::control
