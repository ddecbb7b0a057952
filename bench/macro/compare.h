// Macro benchmarks: this project against a peer in the same run. Both sides are timed in turn, round by
// round, so that whatever else the machine does hits both; a row is the median of the rounds' ratios with
// their spread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/report/report.h"

namespace l3dml::bench {

struct Options {
  int rounds = 11;
  bool quick = false;      // fewer packets per round
  int network_rounds = 3;  // of rows that start processes for each
};

// Work per second of one side, for one round.
using Side = std::function<double()>;

// value = median over rounds of ours / peer.
report::Row ratio(const std::string& name, double target, const Options& options, const Side& ours,
                  const Side& peer, std::map<std::string, std::string> group = {});

// Seconds that `work` takes, by the monotonic clock.
double seconds(const std::function<void()>& work);

std::vector<report::Row> aggregation_rows(const Options& options);  // pipeline against a bare loop
std::vector<report::Row> cost_rows(const Options& options);         // flat over children and jobs
std::vector<report::Row> shard_rows(const Options& options);        // two shards on two cores against one
std::vector<report::Row> forward_rows(const Options& options);      // against testpmd's io loop
std::vector<report::Row> swx_rows(const Options& options);          // against DPDK's SWX pipeline
std::vector<report::Row> flood_rows(const Options& options);        // while strangers send as much
std::vector<report::Row> quantise_rows(const Options& options);     // against memcpy
// taps, wan, memif: allreduces against gloo (bench/network/network.py); needs root.
std::vector<report::Row> network_rows(const Options& options, const std::string& section);

}  // namespace l3dml::bench
