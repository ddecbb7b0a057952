#include "drl/policy/pricing_tree.h"

#include <algorithm>
#include <cmath>

namespace l3dml::drl {
namespace {

constexpr float kFar = 1e30f;
constexpr int kWalk = 24;  // legs traded at most

}  // namespace

PricingTree::PricingTree(const Space& space)
    : space_(space), oracle_(space), has_child_(space.site_count(), 0) {
  const auto& children = space.problem().children;
  const int sites = space.site_count(), lanes = (space.child_count() + 7) / 8 * 8;
  std::vector<float> fastest(static_cast<size_t>(sites) * lanes, 0),
      between(static_cast<size_t>(sites) * sites, kFar);
  std::vector<float> ready(lanes, 0);
  const auto delay = [&](int from, int to) {
    if (from == to) return 0.0f;
    const int path = space.default_path(from, to);
    return path < 0 ? kFar : static_cast<float>(space.paths().delay_s(path));
  };
  for (int c = 0; c < space.child_count(); ++c) {
    ready[c] = static_cast<float>(children[c].ready_s);
    if (children[c].summed_at_site) has_child_[children[c].site] = 1;
  }
  for (int to = 0; to < sites; ++to) {
    if (!space.problem().sites[to].aggregates) continue;
    for (int c = 0; c < space.child_count(); ++c) fastest[to * lanes + c] = delay(children[c].site, to);
    for (int from = 0; from < sites; ++from) between[from * sites + to] = delay(from, to);
  }
  for (const Hubs& hubs : oracle_.all()) {
    const float* r = &fastest[hubs.root * lanes];
    const float* a = hubs.inner[0] < 0 ? r : &fastest[hubs.inner[0] * lanes];
    const float* b = hubs.inner[1] < 0 ? r : &fastest[hubs.inner[1] * lanes];
    const float beyond_a = hubs.inner[0] < 0 ? 0 : between[hubs.inner[0] * sites + hubs.root];
    const float beyond_b = hubs.inner[1] < 0 ? 0 : between[hubs.inner[1] * sites + hubs.root];
    float arrival[8] = {}, down[8] = {};
    for (int c = 0; c < lanes; c += 8) {
      for (int i = 0; i < 8; ++i) {
        const float d = std::min(r[c + i], std::min(a[c + i] + beyond_a, b[c + i] + beyond_b));
        arrival[i] = std::max(arrival[i], ready[c + i] + d);
        down[i] = std::max(down[i], d);
      }
    }
    const float d = *std::max_element(down, down + 8);
    latency_.push_back(*std::max_element(arrival, arrival + 8) + d);
    delay_.push_back(d);
  }
}

void PricingTree::set_prices(const std::vector<double>& price) {
  oracle_.set_prices(price.data());
  const PathTable& paths = space_.paths();
  path_price_.resize(paths.path_count());
  up_price_.resize(paths.path_count());
  for (int p = 0; p < paths.path_count(); ++p) {
    double up = 0, back = 0;
    for (int e : paths.links(p)) {
      up += price[e];
      back += price[space_.reverse(e)];
    }
    up_price_[p] = up;
    path_price_[p] = up + back;
  }
  slot_price_.assign(space_.site_count(), 0);
  children_sigma_ = 0;
  slots_priced_ = false;
  const double slots_per_s = 4 / (space_.problem().job.payload_bytes * 8.0);
  for (int s = 0; s < space_.site_count(); ++s) {
    if (space_.slot_row(s) < 0) continue;
    slot_price_[s] = price[space_.slot_row(s)] * slots_per_s;
    slots_priced_ = slots_priced_ || slot_price_[s] > 0;
    if (has_child_[s]) children_sigma_ += slot_price_[s];
  }
}

double PricingTree::sigma(const Hubs& hubs) const {
  if (!slots_priced_) return 0;
  double sum = children_sigma_;
  for (int site : {hubs.root, hubs.inner[0], hubs.inner[1]})
    if (site >= 0 && !has_child_[site]) sum += slot_price_[site];
  return sum;
}

void PricingTree::promising(int count, int per_root, double limit_s, std::vector<Hubs>& out) {
  out.clear();
  const std::vector<Hubs>& all = oracle_.all();
  const float limit = static_cast<float>(std::min(limit_s, 1e29));
  promises_.clear();
  for (size_t i = 0; i < all.size(); ++i) {
    const float cost = all[i].cost + latency_[i] + 2 * static_cast<float>(sigma(all[i])) * delay_[i];
    if (cost < limit) promises_.push_back({cost, static_cast<int>(i)});
  }
  const auto cheaper = [](const Promise& x, const Promise& y) {
    return x.cost < y.cost || (x.cost == y.cost && x.at < y.at);
  };
  const size_t keep = std::min(promises_.size(), static_cast<size_t>(count) * 4);
  std::partial_sort(promises_.begin(), promises_.begin() + keep, promises_.end(), cheaper);
  taken_.assign(space_.site_count(), 0);
  for (size_t i = 0; i < keep && static_cast<int>(out.size()) < count; ++i) {
    const Hubs& hubs = all[promises_[i].at];
    if (taken_[hubs.root] >= per_root) continue;
    ++taken_[hubs.root];
    out.push_back(hubs);
  }
}

double PricingTree::leg_cost(int child, const Leg& leg) const {
  if (leg.path == kSameSite) return 0;
  const Child& c = space_.problem().children[child];
  if (c.summed_at_site) return path_price_[leg.path];
  const int back = space_.default_path(c.site, leg.parent);
  return up_price_[leg.path] + path_price_[back] - up_price_[back];
}

Tree PricingTree::tree(const Hubs& hubs) {
  Tree tree = oracle_.tree(hubs), best_tree = tree;
  const PathTable& paths = space_.paths();
  const auto& children = space_.problem().children;
  const double down_weight = 1 + 2 * sigma(hubs);
  double cost = 0, best = kUnlimited;  // relative to the first tree
  for (int step = 0; step <= kWalk; ++step) {
    const TreeDelays delays = tree_delays(space_, tree);
    int late = 0, far = 0;
    for (int c = 1; c < space_.child_count(); ++c) {
      if (children[c].ready_s + delays.up_s[c] > children[late].ready_s + delays.up_s[late]) late = c;
      if (delays.down_s[c] > delays.down_s[far]) far = c;
    }
    const double value = cost + children[late].ready_s + delays.up_s[late] + down_weight * delays.down_s[far];
    if (value < best * (1 - 1e-9)) {
      best = value;
      best_tree = tree;
    }
    // The cheapest exchange that makes the last one to arrive, or the farthest one, faster.
    double cheapest = kUnlimited;
    int move_child = -1, move_inner = -1;
    Leg move;
    for (int c : {late, far}) {
      const Leg& leg = tree.child_legs[c];
      const double up = delays.up_s[c];
      const auto consider = [&](int parent, double beyond_s) {
        for (int p = paths.first(children[c].site, parent); p < paths.last(children[c].site, parent); ++p) {
          if (!space_.alive(p) || paths.delay_s(p) + beyond_s >= up - 1e-12) continue;
          const double extra = leg_cost(c, {parent, p}) - leg_cost(c, leg);
          if (extra < cheapest) {
            cheapest = extra;
            move_child = c;
            move_inner = -1;
            move = {parent, p};
          }
        }
      };
      if (leg.path != kSameSite) {
        consider(tree.root, 0);
        for (size_t i = 0; i < tree.inner.size(); ++i)
          consider(tree.inner[i], paths.delay_s(tree.inner_legs[i].path));
      }
      for (size_t i = 0; i < tree.inner.size(); ++i) {
        if (leg.parent != tree.inner[i]) continue;
        const int now = tree.inner_legs[i].path;
        for (int p = paths.first(tree.inner[i], tree.root); p < paths.last(tree.inner[i], tree.root); ++p) {
          if (!space_.alive(p) || paths.delay_s(p) >= paths.delay_s(now) - 1e-12) continue;
          const double extra = path_price_[p] - path_price_[now];
          if (extra < cheapest) {
            cheapest = extra;
            move_child = -1;
            move_inner = static_cast<int>(i);
            move = {tree.root, p};
          }
        }
      }
      if (late == far) break;
    }
    if (!std::isfinite(cheapest)) break;
    cost += cheapest;
    if (cost >= best) break;  // prices alone exceed what was found
    (move_inner >= 0 ? tree.inner_legs[move_inner] : tree.child_legs[move_child]) = move;
  }
  return space_.normalise(std::move(best_tree));
}

}  // namespace l3dml::drl
