// How the simulator numbers things: one administration, one /48; device d is site d + 1; job j is d+1 on the
// wire.
#pragma once

#include <cstdint>

#include "dataplane/base/limits.h"
#include "dataplane/wire/address.h"
#include "dataplane/wire/header.h"

namespace l3dml::sim {

constexpr uint64_t kPrefix = 0xfd0000000001;
constexpr uint16_t kFirstMemberPort = 19600;  // beyond the ports of the shards

inline uint16_t locator(uint32_t device) { return static_cast<uint16_t>(device + 1); }
inline uint16_t job_number(uint32_t job) { return static_cast<uint16_t>(job + 1); }
inline wire::MacAddress device_mac(uint32_t device) {
  return {2, 0, 0, 0, static_cast<uint8_t>(device >> 8), static_cast<uint8_t>(device)};
}
inline wire::MacAddress host_mac(uint32_t host) {
  return {2, 1, 0, 0, static_cast<uint8_t>(host >> 8), static_cast<uint8_t>(host)};
}
inline wire::Ipv6Address host_address(uint32_t host, uint32_t device) {
  return wire::host_address(kPrefix, locator(device), host + 1);
}
inline wire::Ipv6Address aggregation_address(uint32_t device, uint32_t job, uint16_t child) {
  return wire::aggregation_address(kPrefix, locator(device), 0, job_number(job), child);
}
// UDP source port of a switch's packets: constant per job and child; mod 64 it is the shard.
inline uint16_t source_port(uint32_t job, uint32_t child, uint32_t shard) {
  return static_cast<uint16_t>(base::kUdpSourcePort + (job * 37 + child) % 250 * base::kMaxShards + shard);
}

}  // namespace l3dml::sim
