// Trouble, as the scenario wants it.
#include <algorithm>

#include <fmt/format.h>

#include "tools/sim/world.h"

namespace l3dml::sim {

void World::happen(const Fault& fault) {
  static constexpr const char* kNames[] = {"change wanted", "device restarts", "device dies",
                                           "member dies",   "member joins",    "link down",
                                           "device silent", "member silent",   "member restarts"};
  note(fmt::format("FAULT {} (job {}, index {})", kNames[static_cast<int>(fault.kind)], fault.job + 1,
                   fault.index));
  switch (fault.kind) {
    case FaultKind::change_wanted:
      jobs_[fault.job]->report(control::ChangeWanted{});
      break;
    case FaultKind::device_restart:
      restart(fault.index, fault.aux_ns);
      break;
    case FaultKind::device_death:
      lose_device(fault.index, fault.aux_ns);
      break;
    case FaultKind::member_death:
      jobs_[fault.job]->member_dies(fault.index, fault.aux_ns);
      break;
    case FaultKind::member_join:
      jobs_[fault.job]->member_joins(fault.joiner);
      break;
    case FaultKind::member_restart:  // the process is gone at once, and a new one comes in its place
      jobs_[fault.job]->member_dies(fault.index, fault.aux_ns);
      network_.call_at(now_ns() + fault.aux_ns / 2,
                       [this, fault] { jobs_[fault.job]->member_joins(fault.joiner); });
      break;
    case FaultKind::link_down:
      network_.set_link_up(fault.index, false);
      network_.call_at(now_ns() + fault.aux_ns, [this, fault] { network_.set_link_up(fault.index, true); });
      break;
    case FaultKind::member_silent:
      jobs_[fault.job]->member_silent(fault.index, now_ns() + fault.aux_ns);
      break;
    case FaultKind::device_silent:
      switches_[fault.index].silent = true;
      network_.call_at(now_ns() + fault.aux_ns, [this, fault] {
        switches_[fault.index].silent = false;
        for (auto& job : jobs_)
          job->tell(control::SwitchReturned{fault.index, false}, Job::kSwitchSender + fault.index);
      });
      break;
  }
}

void World::restart(uint32_t device, int64_t noticed_after_ns) {
  if (!network_.device_up(device)) return;
  build(device);
  network_.call_at(now_ns() + noticed_after_ns, [this, device] {
    for (auto& job : jobs_) job->report(control::SwitchReturned{device, true});
  });
}

// A device is gone, and whoever it cut off from the largest part that is left.
void World::lose_device(uint32_t gone, int64_t noticed_after_ns) {
  if (!network_.device_up(gone)) return;
  network_.set_device_up(gone, false);
  network_.find_routes();
  uint32_t centre = 0, most = 0;
  for (uint32_t from = 0; from < scenario_.devices; ++from) {
    uint32_t reached = 0;
    for (uint32_t to = 0; to < scenario_.devices; ++to) reached += network_.next_hop(from, to) != nullptr;
    if (network_.device_up(from) && reached + 1 > most) centre = from, most = reached + 1;
  }
  std::vector<uint32_t> lost;
  for (uint32_t device = 0; device < scenario_.devices; ++device) {
    if (device != centre && !network_.next_hop(centre, device)) {
      network_.set_device_up(device, false);
      lost.push_back(device);
    } else {
      switches_[device].program->routes_changed();
    }
  }
  for (auto& job : jobs_) {
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      if (!network_.device_up(network_.host_device(job->member(m).host())))
        job->member_dies(m, noticed_after_ns);
    }
  }
  network_.call_at(now_ns() + noticed_after_ns, [this, lost] {
    for (auto& job : jobs_) {
      const control::Coordinator& c = job->coordinator();
      const bool summed_there = c.phase() == control::Coordinator::Phase::running &&
                                std::any_of(lost.begin(), lost.end(), [&](uint32_t device) {
                                  const auto& tree = c.plan().switches;
                                  return std::find(tree.begin(), tree.end(), device) != tree.end();
                                });
      for (uint32_t device : lost) job->report(control::SwitchLost{device});
      if (!summed_there) job->report(control::ChangeWanted{});  // segments may have led through what is gone
    }
  });
}

}  // namespace l3dml::sim
