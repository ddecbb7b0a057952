// Serial-number arithmetic on 32 bits (RFC 1982): numbers and segment sequence numbers wrap around.
// newer(a, b) is meaningful while the two are less than 2^31 apart; ARCHITECTURE.md says why they always are.
#pragma once

#include <cstdint>

namespace l3dml::base {

constexpr int32_t serial_distance(uint32_t to, uint32_t from) { return static_cast<int32_t>(to - from); }
constexpr bool serial_newer(uint32_t a, uint32_t b) { return serial_distance(a, b) > 0; }
constexpr bool serial_older(uint32_t a, uint32_t b) { return serial_distance(a, b) < 0; }

}  // namespace l3dml::base
