#include "drl/optimum/pricing.h"

#include <algorithm>

namespace l3dml::drl {

void LatencyPricing::set_prices(const std::vector<double>& link_price) {
  path_cost_.assign(space_.paths().path_count(), kUnlimited);
  for (int p = 0; p < space_.paths().path_count(); ++p) {
    if (!space_.alive(p)) continue;
    path_cost_[p] = 0;
    for (int e : space_.paths().links(p)) path_cost_[p] += link_price[e] + link_price[space_.reverse(e)];
  }
}

// Smallest base + sum cost + arrival + down_weight * down over the present options, below `limit`, else
// kUnlimited.
double LatencyPricing::walk(double down_weight, double base, double limit, std::vector<int>& chosen) {
  const auto& children = space_.problem().children;
  const size_t n = children.size();
  double best = limit;
  std::vector<size_t> by_down(n, 0), pick(n);
  for (double down_cap = kUnlimited;;) {
    double first_down = -1;
    pick = by_down;
    for (double arrival_cap = kUnlimited;;) {
      double cost = base, arrival = 0, down = 0;
      bool feasible = true;
      for (size_t c = 0; c < n && feasible; ++c) {
        size_t& at = pick[c];
        const auto& list = options_[c];
        while (at < list.size() &&
               (list[at].delay_s >= down_cap || children[c].ready_s + list[at].delay_s >= arrival_cap))
          ++at;
        feasible = at < list.size();
        if (!feasible) break;
        cost += list[at].cost;
        arrival = std::max(arrival, children[c].ready_s + list[at].delay_s);
        down = std::max(down, list[at].delay_s);
      }
      if (!feasible) break;
      if (first_down < 0) {
        first_down = down;
        by_down = pick;
      }
      if (cost >= best) break;  // costs only rise along the walk
      if (const double value = cost + arrival + down_weight * down; value < best) {
        best = value;
        for (size_t c = 0; c < n; ++c) chosen[c] = static_cast<int>(pick[c]);
      }
      arrival_cap = arrival;
    }
    if (first_down < 0) break;
    double cost = base;
    for (size_t c = 0; c < n; ++c) cost += options_[c][by_down[c]].cost;
    if (cost >= best) break;
    down_cap = first_down;
  }
  return best < limit ? best : kUnlimited;
}

bool LatencyPricing::best(const Hubs& hubs, double down_weight, double limit, Tree& tree, double& value) {
  const PathTable& paths = space_.paths();
  const auto& children = space_.problem().children;
  options_.resize(children.size());
  Few<int, kMaxInner> inner;
  for (int i : hubs.inner)
    if (i >= 0) inner.push_back(i);
  std::vector<int> chosen(children.size());
  bool found = false;
  const int none = -1;
  const auto first = [&](size_t i) { return i < inner.size() ? paths.first(inner[i], hubs.root) : none; };
  const auto last = [&](size_t i) { return i < inner.size() ? paths.last(inner[i], hubs.root) : none + 1; };
  for (int a = first(0); a < last(0); ++a) {
    for (int b = first(1); b < last(1); ++b) {
      const int up[kMaxInner] = {a, b};
      double base = 0;
      for (size_t i = 0; i < inner.size(); ++i) base += path_cost_[up[i]];
      if (base >= limit) continue;
      for (size_t c = 0; c < children.size(); ++c) {
        auto& list = options_[c];
        list.clear();
        const int site = children[c].site;
        const auto add = [&](int parent, double beyond_s) {
          if (site == parent) {
            list.assign(1, {{parent, kSameSite}, 0, beyond_s});
            return true;
          }
          for (int p = paths.first(site, parent); p < paths.last(site, parent); ++p)
            if (space_.alive(p)) list.push_back({{parent, p}, path_cost_[p], paths.delay_s(p) + beyond_s});
          return false;
        };
        bool joined = add(hubs.root, 0);
        for (size_t i = 0; i < inner.size() && !joined; ++i) joined = add(inner[i], paths.delay_s(up[i]));
        std::sort(list.begin(), list.end(), [](const Option& x, const Option& y) {
          return x.cost < y.cost || (x.cost == y.cost && x.delay_s < y.delay_s);
        });
      }
      const double v = walk(down_weight, base, limit, chosen);
      if (v >= limit) continue;
      limit = value = v;
      found = true;
      tree = Tree{hubs.root, inner, {}, {}};
      for (size_t i = 0; i < inner.size(); ++i) tree.inner_legs.push_back({hubs.root, up[i]});
      for (size_t c = 0; c < children.size(); ++c) tree.child_legs.push_back(options_[c][chosen[c]].leg);
    }
  }
  if (found) tree = space_.normalise(std::move(tree));
  return found;
}

}  // namespace l3dml::drl
