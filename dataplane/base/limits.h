// The knobs that several folders must agree on, with the relations between them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace l3dml::base {

constexpr size_t kMaxLanes = 320;         // 32-bit values of one packet
constexpr size_t kLanesGranularity = 64;  // a job's lanes are a multiple of this; a Tofino 1 pass carries one
constexpr size_t kMaxChildren = 31;       // bits 0..30 of `bitmap`; bit 31 is "done"
constexpr size_t kMaxShards = 64;         // UDP ports reserved for shards
constexpr uint16_t kUdpPort = 19507;      // destination port of shard 0
constexpr uint16_t kUdpSourcePort = 49152;  // first source port a switch sends from
constexpr size_t kMaxFrame = 9728;          // bytes of the largest frame a port may carry
constexpr size_t kBurst = 32;               // packets handled together
constexpr uint16_t kPortsPerPipe = 128;     // device port = pipe << 7 | port in pipe
constexpr uint16_t kCpuPort = 64;
constexpr uint16_t kRecirculationPort = 68;  // of pipe 0; + 128 * pipe for the others
constexpr uint16_t kNoPort = 511;            // no such device port (the drop port of BMv2)

static_assert(kMaxLanes % kLanesGranularity == 0 && std::has_single_bit(kMaxShards));

}  // namespace l3dml::base
