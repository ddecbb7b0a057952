// Writes lists of entries to a device and reads back what it holds. The only code between the pure lists of
// control/jobs and a SwitchTarget.
// Errors: those of the target, with the device's own text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/jobs/capability.h"
#include "control/jobs/entry.h"
#include "control/target/switch_target.h"

namespace l3dml::control {

// Everything that control/ owns on a device: tables of routes and jobs, multicast groups.
absl::StatusOr<DeviceEntries> read_installed(target::SwitchTarget& device);

// In one batch that packets see as a whole. A table that the device's program lacks is skipped: what it says
// is built in there.
absl::Status apply(target::SwitchTarget& device, const Change& change);

// Makes the device hold exactly `wanted`; returns how many writes that took.
absl::StatusOr<size_t> reconcile(target::SwitchTarget& device, const DeviceEntries& wanted);
absl::StatusOr<size_t> reconcile(target::SwitchTarget& device, const DeviceEntries& wanted,
                                 const DeviceEntries& installed);  // which was read before

// The counters of these segments start from 0: between removing an epoch's admission and installing the next
// one's.
absl::Status zero_segments(target::SwitchTarget& device, std::span<const uint16_t> neighbors);
// Overwrites the stamps of a slot range.
absl::Status write_stamps(target::SwitchTarget& device, uint32_t slot_base, uint32_t count, uint32_t stamp);

// Sizes as the device's own schema gives them.
absl::StatusOr<Capability> read_capability(target::SwitchTarget& device);

}  // namespace l3dml::control
