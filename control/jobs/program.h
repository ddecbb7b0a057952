// What control/ knows of the device program beyond bf-rt.json: numbers that both sides must agree on.
// The lab's contract test compares them with dataplane/base/drop_reason.h and dataplane/wire/header.h.
#pragma once

#include <cstdint>

namespace l3dml::control {

enum class PacketType : uint8_t { up = 1, down = 2, nack = 3, sync = 4, probe = 6 };
constexpr uint8_t kFlagDown = 4;

enum class Reject : uint8_t {
  unknown_job = 13,
  wrong_epoch = 14,
  wrong_child = 15,
  wrong_source = 16,
  wrong_slot = 17
};

enum class Role : uint8_t { root = 1, inner = 2 };

constexpr uint16_t kSwitchSourcePort = 49152;  // UDP source ports of switches start here
constexpr int kDone = 31;                      // bit of a slot's bitmap

}  // namespace l3dml::control
