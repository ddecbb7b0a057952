#include "drl/env/paths.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

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
  std::map<int, Group> by_hops;
  for (int i = 0; i < table.path_count(); ++i) {
    const std::span<const int> links = table.links(i);
    Group& group = by_hops[static_cast<int>(links.size())];
    group.hops = static_cast<int>(links.size());
    group.paths.push_back(i);
    group.links.insert(group.links.end(), links.begin(), links.end());
  }
  for (auto& [hops, group] : by_hops) table.groups_.push_back(std::move(group));
  return table;
}

namespace {

using Pair = double __attribute__((vector_size(16)));

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

// kHops > 0: paths of exactly so many links, the loop over them unrolled.
template <int kHops>
void add_up(const std::vector<int>& paths, const int* link, int hops, const double* per_link,
            double* per_path) {
  for (const int path : paths) {
    Pair low{}, high{};
    for (int h = 0; h < (kHops ? kHops : hops); ++h) {
      const double* const numbers = per_link + static_cast<size_t>(link[h]) * PathTable::kSums;
      low += load(numbers);
      high += load(numbers + 2);
    }
    link += hops;
    std::memcpy(per_path + static_cast<size_t>(path) * PathTable::kSums, &low, sizeof low);
    std::memcpy(per_path + static_cast<size_t>(path) * PathTable::kSums + 2, &high, sizeof high);
  }
}

}  // namespace

void PathTable::sums(const double* per_link, double* per_path) const {
  for (const Group& g : groups_) {
    constexpr decltype(&add_up<0>) kUnrolled[] = {add_up<0>, add_up<1>, add_up<2>, add_up<3>,
                                                  add_up<4>, add_up<5>, add_up<6>, add_up<7>};
    kUnrolled[g.hops < 8 ? g.hops : 0](g.paths, g.links.data(), g.hops, per_link, per_path);
  }
}

}  // namespace l3dml::drl
