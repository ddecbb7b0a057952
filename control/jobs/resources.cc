#include "control/jobs/resources.h"

namespace l3dml::control {

std::optional<uint16_t> IndexPool::take() {
  if (!returned_.empty()) {
    const uint16_t index = *returned_.begin();
    returned_.erase(returned_.begin());
    return index;
  }
  if (next_ > last_) return std::nullopt;
  return static_cast<uint16_t>(next_++);
}

bool IndexPool::reserve(uint16_t index) {
  if (index > last_) return false;
  if (index < next_) return returned_.erase(index) == 1;
  for (; next_ < index; ++next_) returned_.insert(static_cast<uint16_t>(next_));
  ++next_;
  return true;
}

DeviceResources::DeviceResources(const Capability& c)
    : capability(c),
      slots(c.slots),
      seq_entries(c.seq_entries),
      neighbors(1, c.neighbors - 1),
      jobs(1, c.jobs - 1),
      groups(1, c.groups - 1) {}

}  // namespace l3dml::control
