#include "drl/env/paths.h"

#include <algorithm>
#include <limits>

namespace l3dml::drl {
namespace {

constexpr double kPenalty = 1.7;  // a used link costs that much more for the next candidate
constexpr double kHop_s = 1e-6;   // so that among equal delays fewer hops win

using Weights = std::vector<double>;

// Dijkstra over at most a few hundred sites; returns link ids from `from` to `to`, empty if unreachable.
std::vector<int> shortest(const Problem& p, const std::vector<std::vector<int>>& out, const Weights& weight,
                          int from, int to) {
  const size_t n = p.sites.size();
  std::vector<double> distance(n, std::numeric_limits<double>::infinity());
  std::vector<int> via(n, -1);
  std::vector<bool> done(n, false);
  distance[from] = 0;
  for (;;) {
    int best = -1;
    for (size_t i = 0; i < n; ++i)
      if (!done[i] && distance[i] < std::numeric_limits<double>::infinity() &&
          (best < 0 || distance[i] < distance[best]))
        best = static_cast<int>(i);
    if (best < 0 || best == to) break;
    done[best] = true;
    for (int e : out[best]) {
      const int next = p.links[e].to;
      if (distance[best] + weight[e] < distance[next]) {
        distance[next] = distance[best] + weight[e];
        via[next] = e;
      }
    }
  }
  std::vector<int> path;
  for (int at = to; at != from; at = p.links[via[at]].from) {
    if (via[at] < 0) return {};
    path.push_back(via[at]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

PathTable PathTable::build(const Problem& p, int k, const std::vector<bool>& usable) {
  PathTable table;
  const int n = static_cast<int>(p.sites.size());
  table.sites_ = n;
  table.k_ = k;
  std::vector<std::vector<int>> out(n);
  Weights base(p.links.size());
  for (size_t e = 0; e < p.links.size(); ++e) {
    base[e] = p.links[e].delay_s + kHop_s;
    if (usable.empty() || usable[e]) out[p.links[e].from].push_back(static_cast<int>(e));
  }
  const auto delay = [&](const std::vector<int>& path) {
    double sum = 0;
    for (int e : path) sum += base[e];
    return sum;
  };
  table.begin_.push_back(0);
  table.link_begin_.push_back(0);
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      std::vector<std::vector<int>> found;
      Weights weight = base;
      for (int attempt = 0; from != to && attempt < 4 * k && static_cast<int>(found.size()) < k; ++attempt) {
        std::vector<int> path = shortest(p, out, weight, from, to);
        if (path.empty()) break;
        for (int e : path) weight[e] *= kPenalty;
        if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(std::move(path));
      }
      std::stable_sort(found.begin(), found.end(),
                       [&](const auto& a, const auto& b) { return delay(a) < delay(b); });
      for (const auto& path : found) {
        double sum = 0;
        for (int e : path) sum += p.links[e].delay_s;
        table.links_.insert(table.links_.end(), path.begin(), path.end());
        table.link_begin_.push_back(static_cast<int>(table.links_.size()));
        table.delay_s_.push_back(sum);
      }
      table.begin_.push_back(static_cast<int>(table.delay_s_.size()));
    }
  }
  return table;
}

}  // namespace l3dml::drl
