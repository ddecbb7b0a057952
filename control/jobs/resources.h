// What of one device is taken: slots, seq rings, neighbours, job indices, multicast groups.
// A plain value, so that a plan is tried on a copy and thrown away if it does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "control/jobs/buddy.h"
#include "control/jobs/capability.h"

namespace l3dml::control {

// Numbers first..last, lowest free first.
class IndexPool {
 public:
  IndexPool(uint32_t first, uint32_t last) : next_(first), last_(last) {}
  std::optional<uint16_t> take();
  bool reserve(uint16_t index);  // false: taken, or none of this pool's
  void give_back(uint16_t index) { returned_.insert(index); }
  uint32_t left() const { return last_ - next_ + 1 + static_cast<uint32_t>(returned_.size()); }

 private:
  uint32_t next_, last_;
  std::set<uint16_t> returned_;
};

struct DeviceResources {
  explicit DeviceResources(const Capability& capability);

  Capability capability;
  Buddy slots, seq_entries;
  IndexPool neighbors;  // 0 means none
  IndexPool jobs;       // 0 means none
  IndexPool groups;     // 0 is never a job's: a packet that sets nothing carries it
};

}  // namespace l3dml::control
