// What one rank is told about its job: written as JSON by the lab or the controller, one file per rank. Field
// names in JSON are those of the structs; every error names the key and says what would be right.
//
// {"name": "mnist", "world": 4, "rank": 1, "timeout_ns": 30000000000, "abstain_after_ns": 0,
//  "stripes": [{"job": 1, "epoch": 1, "child": 0, "lanes": 256, "window": 1024, "look_ahead": 1024, "shards":
//  1,
//               "first_number": 2048, "slot_base": 0, "ring": 2048, "aggregator": "fd00:0:0:101:100:1::",
//               "result_source": "fd00:0:0:101:100:1:fffe:0", "local_address": "fd00:0:0:101::1",
//               "local_port": 19601, "rate_bps": 100000000, "share": 1, "mtu": 1500}]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/wire/header.h"

namespace l3dml::host {

struct StripeConfig {
  uint16_t job = 0;        // number of the stripe on the wire
  uint8_t epoch = 1;       // packets of another one are refused
  uint8_t child = 0;       // our index at the aggregator, 0..30
  uint32_t lanes = 256;    // of every packet that has any: a multiple of 64 up to 320, at most (mtu - 72) / 4
  uint32_t window = 1024;  // W, a power of two
  uint32_t look_ahead = 1024;      // L, a power of two >= W, constant for the life of the job
  uint32_t shards = 1;             // a power of two <= W; shard k listens on UDP port 19507 + k
  uint32_t first_number = 0;       // a multiple of ring x shards, never 0
  uint32_t slot_base = 0;          // our aggregator's first ring entry
  uint32_t ring = 2048;            // its entries per shard, a power of two; ring x shards >= 2 W
  wire::Ipv6Address aggregator{};  // where gradients go: our /128, with path, job and child in it
  wire::Ipv6Address
      result_source{};  // what results come from: the switch's own address, child fffe. Its UDP source
                        // port mod shards is the shard, since 49152 and the constants are multiples
  wire::Ipv6Address local_address{};  // ours; stripes may share one address and port
  uint16_t local_port = 0;            // where the switch was told to send results
  uint64_t rate_bps = 0;  // ceiling for all we send: frames with their heads, without FCS and gaps; 0: none
  double share = 1;       // of the job's chunks, relative to the other stripes
  uint32_t mtu = 1500;    // of the path, bytes, IPv6 header included
};

struct JobConfig {
  std::string name;
  uint32_t world = 1;  // ranks; also scales the lanes, so it stays when members are lost
  uint32_t rank = 0;
  int64_t timeout_ns = 60'000'000'000;  // a collective in which nothing moves for so long fails
  int64_t abstain_after_ns =
      0;  // chunks not sent so long after their collective was submitted go empty; 0: never
  std::vector<StripeConfig> stripes;
};

// Checks all relations named above; the error says which stripe and key.
absl::Status validate(const JobConfig& config);
absl::Status validate(const StripeConfig& stripe,
                      const std::string& where);  // `where` begins the key in errors

absl::StatusOr<JobConfig> parse_job_config(std::string_view json);
std::string format_job_config(const JobConfig& config);
absl::StatusOr<JobConfig> load_job_config(const std::string& path);
absl::Status save_job_config(const JobConfig& config, const std::string& path);

}  // namespace l3dml::host
