#include "dataplane/server/devices.h"

#include "dataplane/server/text.h"

namespace l3dml::server {

absl::Status Devices::add(std::unique_ptr<Driver> driver) {
  std::lock_guard lock(mutex_);
  const uint32_t id = driver->device_id();
  Slot slot;
  slot.driver = std::move(driver);
  if (!slots_.emplace(id, std::move(slot)).second) {
    return absl::AlreadyExistsError(concat("device ", id, " is there already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Devices::Slot*> Devices::find(uint32_t device) {
  const auto found = slots_.find(device);
  if (found == slots_.end()) return absl::NotFoundError(concat("there is no device ", device));
  return &found->second;
}

absl::StatusOr<std::shared_ptr<Driver>> Devices::get_even_if_changing(uint32_t device) const {
  std::lock_guard lock(mutex_);
  const auto found = slots_.find(device);
  if (found == slots_.end()) return absl::NotFoundError(concat("there is no device ", device));
  return found->second.driver;
}

absl::StatusOr<std::shared_ptr<Driver>> Devices::get(uint32_t device) const {
  std::lock_guard lock(mutex_);
  const auto found = slots_.find(device);
  if (found == slots_.end()) return absl::NotFoundError(concat("there is no device ", device));
  if (found->second.changing) {
    return absl::UnavailableError(concat("the program of device ", device, " is being changed"));
  }
  return found->second.driver;
}

std::vector<std::shared_ptr<Driver>> Devices::all() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Driver>> out;
  for (const auto& [id, slot] : slots_) out.push_back(slot.driver);
  return out;
}

absl::Status Devices::begin_change(uint32_t device, const std::string& program_name,
                                   const std::string& program_json) {
  std::lock_guard lock(mutex_);
  absl::StatusOr<Slot*> slot = find(device);
  if (!slot.ok()) return slot.status();
  if ((*slot)->changing) return absl::UnavailableError("another change of program has begun");
  const Driver& current = *(*slot)->driver;
  std::shared_ptr<Driver> next;
  if (program_name != current.program_name() || program_json != current.program_json()) {
    absl::StatusOr<std::unique_ptr<Driver>> created = current.with_program(program_name, program_json);
    if (!created.ok()) return created.status();
    next = *std::move(created);
  }
  (*slot)->next = std::move(next);
  (*slot)->changing = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Devices::end_change(uint32_t device) {
  std::lock_guard lock(mutex_);
  absl::StatusOr<Slot*> slot = find(device);
  if (!slot.ok()) return slot.status();
  if (!(*slot)->changing) return absl::UnavailableError("no change of program has begun");
  std::string gone;
  if ((*slot)->next != nullptr) {
    if ((*slot)->next->program_name() != (*slot)->driver->program_name())
      gone = (*slot)->driver->program_name();
    (*slot)->driver = std::move((*slot)->next);
  } else {
    (*slot)->driver->wipe();
  }
  (*slot)->changing = false;
  return gone;
}

}  // namespace l3dml::server
