// The throughput of RFC 2544, section 26.1: the highest rate at which nothing is lost. The first trial is at
// the highest rate asked for; then the rate is halved between what passed and what failed.
#pragma once

#include <functional>
#include <vector>

#include "tools/gen/open_loop.h"

namespace l3dml::gen {

struct SearchOptions {
  double most_per_s = 0;     // UPs of all workers: the first rate tried
  double resolution = 0.01;  // of most_per_s: ends when the answer is known so well
  unsigned repeats = 1;      // trials that must pass before a rate is believed
};

struct SearchStep {
  double rate = 0;
  TrialResult result;
};

struct SearchResult {
  double throughput_per_s = 0;  // 0: not even the lowest rate passed
  std::vector<SearchStep> steps;
  const TrialResult* best = nullptr;  // of the throughput: the last that passed there
  bool generator_limited = false;     // some trial failed only because it could not be sent so fast
};

SearchResult search_throughput(const SearchOptions& options, const std::function<TrialResult(double)>& trial);

}  // namespace l3dml::gen
