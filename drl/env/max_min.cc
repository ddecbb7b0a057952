#include "drl/env/max_min.h"

#include <algorithm>
#include <limits>

namespace l3dml::drl {

std::vector<double> max_min(std::span<const double> capacity, std::span<const Flow> flows) {
  std::vector<double> rate(flows.size(), 0), left(capacity.begin(), capacity.end()),
      weight(capacity.size(), 0);
  std::vector<char> open(flows.size(), 1);
  for (const Flow& f : flows)
    for (const auto& [link, times] : f.links) weight[link] += times;
  for (size_t remaining = flows.size(); remaining > 0;) {
    double step = std::numeric_limits<double>::infinity();
    for (size_t e = 0; e < left.size(); ++e)
      if (weight[e] > 1e-9) step = std::min(step, left[e] / weight[e]);
    for (size_t i = 0; i < flows.size(); ++i)
      if (open[i]) step = std::min(step, flows[i].ceiling_bps - rate[i]);
    step = std::max(step, 0.0);
    for (size_t i = 0; i < flows.size(); ++i)
      if (open[i]) rate[i] += step;
    for (size_t e = 0; e < left.size(); ++e) left[e] -= step * weight[e];
    for (size_t i = 0; i < flows.size(); ++i) {
      if (!open[i]) continue;
      bool stop = rate[i] >= flows[i].ceiling_bps * (1 - 1e-12);
      for (const auto& [link, times] : flows[i].links) stop = stop || left[link] <= capacity[link] * 1e-9;
      if (!stop) continue;
      open[i] = 0;
      --remaining;
      for (const auto& [link, times] : flows[i].links) weight[link] -= times;
    }
  }
  return rate;
}

}  // namespace l3dml::drl
