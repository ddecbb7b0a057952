#include "tools/gen/search.h"

#include <algorithm>

namespace l3dml::gen {

SearchResult search_throughput(const SearchOptions& options,
                               const std::function<TrialResult(double)>& trial) {
  SearchResult found;
  const auto passes = [&](double rate) {
    for (unsigned i = 0; i < std::max(1u, options.repeats); ++i) {
      found.steps.push_back({rate, trial(rate)});
      const TrialResult& result = found.steps.back().result;
      if (result.passed()) continue;
      found.generator_limited |= !result.lost && !result.wrong;
      return false;
    }
    return true;
  };
  double low = 0, high = options.most_per_s;
  if (passes(high)) low = high;
  while (high - low > options.resolution * options.most_per_s) {
    const double middle = (low + high) / 2;
    (passes(middle) ? low : high) = middle;
  }
  found.throughput_per_s = low;
  for (const SearchStep& step : found.steps)
    if (step.rate == low && step.result.passed()) found.best = &step.result;
  return found;
}

}  // namespace l3dml::gen
