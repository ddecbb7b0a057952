// Job admission arithmetic: how fast a job can go over this network, and the window that this takes.
// Pure functions; allocation (compiler.h) may have to make the window smaller and then asks again what it
// will give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/jobs/tree.h"

namespace l3dml::control {

constexpr int kHeadBytes = 86;  // Ethernet, IPv6, UDP, L3DML
constexpr int kWireBytes = 24;  // frame check, preamble, gap
constexpr uint32_t kMinWindow = 32;

struct SizingOptions {
  uint32_t lanes = 256;
  double max_rate_bps = 10e9;   // what a worker can send where no link limits it
  double headroom = 0.95;       // share of a link a job may fill
  double host_slack_s = 0.002;  // a round trip's share of hosts and switches: scheduling, bursts
  double window_margin = 1.5;   // over rate x RTT: room for repairs, which take another segment round trip
  uint32_t max_window = 65536;
};

struct StripeSize {
  double rtt_s = 0;                    // farthest worker to root and back
  double rate_bps = 0;                 // of the stripe's gradients at each worker, on the wire
  uint32_t window = 0;                 // power of two
  std::vector<double> segment_rtts_s;  // in the order of segments_of()
};

struct JobSize {
  std::vector<StripeSize> stripes;
  double rate_bps = 0;     // all stripes of one worker, on the wire
  double goodput_bps = 0;  // of 32-bit lanes, once the pipe is full
  std::string limit;       // the resource that bounds it, for people
};

struct StripeShape {
  const Tree* tree = nullptr;
  double share = 1;  // of the chunks; shares of a job add up to 1
};

int packet_bits(uint32_t lanes);  // on the wire
JobSize size_job(const Topology& topology, const std::vector<StripeShape>& stripes,
                 const SizingOptions& options);

// What a job gets when its windows had to be made `windows` for want of slots.
void apply_windows(JobSize* size, const std::vector<uint32_t>& windows, uint32_t lanes,
                   const std::string& why);

uint32_t power_of_two_above(double value);  // smallest power of two >= value, at least 1

}  // namespace l3dml::control
