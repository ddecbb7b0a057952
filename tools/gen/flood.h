// Frames that a switch must survive: what strangers, broken hosts and wrong configurations send. They are
// made from a worker's real head, so that each gets as far as its one fault lets it.
#pragma once

#include <optional>
#include <random>
#include <string_view>

#include "tools/gen/traffic.h"

namespace l3dml::gen {

enum class Bad : uint8_t {
  unknown_job,  // an aggregation address of a job that does not exist
  wrong_lanes,  // more or fewer lanes than the job's, or a torn one
  jumbo,        // as many bytes as fit into a packet buffer, up to 9000
  fragment,     // IPv6 fragments of a gradient
  wrong_epoch,
  wrong_source,  // another host says that it is this worker
  truncated,     // lengths promise more than there is
  garbage,       // random bytes behind the switch's MAC address
};
constexpr unsigned kBadKinds = 8;

std::string_view bad_name(Bad kind);  // "unknown-job"
std::optional<Bad> parse_bad(std::string_view name);

struct Flood {
  Bad kind = Bad::unknown_job;
  double per_gradient = 1;  // frames of this kind per UP that is sent
};

class BadFrames {
 public:
  explicit BadFrames(uint64_t seed) : random_(seed) {}
  // Fills an empty packet with one frame of that kind, as if from `member`.
  void write(Bad kind, const Member& member, base::Packet* packet);

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::mt19937_64 random_;
};

}  // namespace l3dml::gen
