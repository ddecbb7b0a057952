#include "drl/env/oracle.h"

#include <algorithm>

namespace l3dml::drl {
namespace {

constexpr float kFar = 1e30f;  // no leg

}  // namespace

Oracle::Oracle(const Space& space)
    : space_(space), sites_(space.site_count()), lanes_((space.child_count() + 7) / 8 * 8) {
  for (int i = 0; i < sites_; ++i)
    if (space.problem().sites[i].aggregates) aggregators_.push_back(i);
  cost_.assign(static_cast<size_t>(sites_) * sites_, kFar);
  path_.assign(static_cast<size_t>(sites_) * sites_, kSameSite);
  child_cost_.assign(static_cast<size_t>(sites_) * lanes_, 0);
  for (int root : space.roots()) {
    all_.push_back({root, {-1, -1}, 0});
    for (size_t i = 0; i < aggregators_.size(); ++i) {
      if (aggregators_[i] == root) continue;
      all_.push_back({root, {aggregators_[i], -1}, 0});
      for (size_t j = i + 1; j < aggregators_.size(); ++j)
        if (aggregators_[j] != root) all_.push_back({root, {aggregators_[i], aggregators_[j]}, 0});
    }
  }
}

void Oracle::set_prices(const double* price) {
  const PathTable& paths = space_.paths();
  for (int from = 0; from < sites_; ++from) {
    const bool summed = space_.problem().sites[from].aggregates;
    for (int to : aggregators_) {
      float& best = cost_[from * sites_ + to];
      best = from == to ? 0 : kFar;
      if (from == to) continue;
      double back =
          0;  // where the switch cannot sum, results come by the default path whatever way gradients went
      if (const int path = summed ? -1 : space_.default_path(from, to); path >= 0)
        for (int e : paths.links(path)) back += price[space_.reverse(e)];
      for (int p = paths.first(from, to); p < paths.last(from, to); ++p) {
        if (!space_.alive(p)) continue;
        double sum = back;
        for (int e : paths.links(p)) sum += price[e] + (summed ? price[space_.reverse(e)] : 0);
        if (static_cast<float>(sum) < best) {
          best = static_cast<float>(sum);
          path_[from * sites_ + to] = p;
        }
      }
    }
  }
  const auto& children = space_.problem().children;
  for (int to : aggregators_)
    for (size_t c = 0; c < children.size(); ++c)
      child_cost_[to * lanes_ + c] = leg_cost(children[c].site, to);

  for (Hubs& hubs : all_) {
    const float* r = &child_cost_[hubs.root * lanes_];
    const float* a = hubs.inner[0] < 0 ? r : &child_cost_[hubs.inner[0] * lanes_];
    const float* b = hubs.inner[1] < 0 ? r : &child_cost_[hubs.inner[1] * lanes_];
    float sum[8] = {};
    for (int c = 0; c < lanes_; c += 8)
      for (int i = 0; i < 8; ++i) sum[i] += std::min(r[c + i], std::min(a[c + i], b[c + i]));
    hubs.cost = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
    for (int inner : hubs.inner)
      if (inner >= 0) hubs.cost += leg_cost(inner, hubs.root);
  }
}

void Oracle::cheapest(int count, int per_root, std::vector<Hubs>& out) const {
  out.clear();
  std::vector<Hubs> heap(all_.size());
  std::copy(all_.begin(), all_.end(), heap.begin());
  const size_t keep = std::min(heap.size(), static_cast<size_t>(count) * 8);
  const auto cheaper = [](const Hubs& x, const Hubs& y) { return x.cost < y.cost; };
  std::nth_element(heap.begin(), heap.begin() + (keep ? keep - 1 : 0), heap.end(), cheaper);
  std::sort(heap.begin(), heap.begin() + keep, cheaper);
  std::vector<int> taken(sites_, 0);
  for (size_t i = 0; i < keep && static_cast<int>(out.size()) < count; ++i) {
    if (heap[i].cost >= kFar || taken[heap[i].root] >= per_root) continue;
    ++taken[heap[i].root];
    out.push_back(heap[i]);
  }
}

Tree Oracle::tree(const Hubs& hubs) const {
  Tree tree;
  tree.root = hubs.root;
  for (int inner : hubs.inner) {
    if (inner < 0) continue;
    tree.inner.push_back(inner);
    tree.inner_legs.push_back({hubs.root, path_[inner * sites_ + hubs.root]});
  }
  for (const Child& child : space_.problem().children) {
    int parent = hubs.root;
    for (int inner : hubs.inner)
      if (inner >= 0 && leg_cost(child.site, inner) < leg_cost(child.site, parent)) parent = inner;
    tree.child_legs.push_back(
        {parent, child.site == parent ? kSameSite : path_[child.site * sites_ + parent]});
  }
  return space_.normalise(std::move(tree));
}

}  // namespace l3dml::drl
