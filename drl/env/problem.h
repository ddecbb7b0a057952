// The routing problem of one job at one moment: sites, directed links with what the job may use of them, the
// children that contribute, and the job itself. Plain data in SI units (bit/s, seconds, bytes); torch-free,
// shared by the environment, the policies and (through policy/policy.h) the controller.
//
// Every link must have its reverse: results travel back along the reverse of the path that gradients took
// (DESIGN section 3: choice downward exists towards aggregators).
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace l3dml::drl {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr int kMaxChildren = 31;          // the child field of the header is 0..30
inline constexpr int kFrameOverhead_bytes = 86;  // Ethernet 14, IPv6 40, UDP 8, L3DML 24

struct Site {
  std::string name;
  bool aggregates = true;     // false: an ordinary router, traffic only passes
  double slots = kUnlimited;  // free slots of its switch, each of one payload
  double latitude = 0;        // degrees; for drawings only
  double longitude = 0;
};

struct Link {
  int from = 0;
  int to = 0;
  double capacity_bps = 0;
  double available_bps =
      0;  // what this job may use: capacity less background, at least its max-min share; 0 = failed
  double delay_s = 0;
};

// Who sends across the WAN: the workers of one site, summed by its switch, or a single worker where the
// site's switch cannot sum (summed_at_site = false; its results then come back by the default path).
struct Child {
  int site = 0;
  int workers = 1;
  double ready_s = 0;              // when the slowest of its workers has finished computing
  double access_bps = kUnlimited;  // worker to switch
  bool summed_at_site = true;
};

struct Job {
  double bytes = 0;          // tensor bytes of one iteration
  int payload_bytes = 1024;  // lanes of one packet
  int max_stripes = 8;
};

struct Problem {
  std::vector<Site> sites;
  std::vector<Link> links;
  std::vector<Child> children;
  Job job;
};

// InvalidArgument with the field named, for anything that is not a network, a job and children (negative or
// absurd numbers, missing reverse links, indices out of range, no aggregator).
absl::Status validate(const Problem& problem);

// Tensor bits that fit in one bit of the wire.
double wire_efficiency(const Job& job);

}  // namespace l3dml::drl
