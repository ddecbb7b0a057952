// What a device needs before its first entry: its ports, and where its program sends packets through itself
// (it has a table of generated packets) recirculation, mirror sessions of answers, and the packet generator
// that shows the ends of quiet segments. One step for every device: what is there already is not written,
// what its driver or program lacks is not asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/target/switch_target.h"

namespace l3dml::control {

struct StartUp {
  std::vector<uint16_t> ports;  // that hosts and links are on
  target::PortConfig port;      // how one that is not there yet is added
};

// Returns the number of writes. A port that cannot be added does not keep the rest: it is named in
// `problems`, one line each.
absl::StatusOr<size_t> start_device(target::SwitchTarget& device, const StartUp& needs,
                                    std::vector<std::string>* problems);

}  // namespace l3dml::control
