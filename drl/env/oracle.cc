// The table of costs is the hot part: for each root and first inner aggregator, children's cheapest legs are
// known; the second one is tried for four aggregators at a time. Sums over children are taken in eight
// strands that are added in turn, whatever the vectors' length, so that costs are the same bits everywhere.
#include "drl/env/oracle.h"

#include <algorithm>
#include <cstring>

namespace l3dml::drl {
namespace {

constexpr float kFar = 1e30f;  // no leg
constexpr int kStrands = 8;
constexpr int kVector = 4;
using Vector = float __attribute__((vector_size(16)));

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

}  // namespace

Oracle::Oracle(const Space& space) : space_(space), sites_(space.site_count()) {
  for (int i = 0; i < sites_; ++i)
    if (space.problem().sites[i].aggregates) aggregators_.push_back(i);
  const int count = static_cast<int>(aggregators_.size()), children = space.child_count();
  width_ = (count + kVector - 1) / kVector * kVector;
  cost_.assign(static_cast<size_t>(sites_) * sites_, kFar);
  path_.assign(static_cast<size_t>(sites_) * sites_, kSameSite);
  lanes_ = (children + kStrands - 1) / kStrands * kStrands;
  child_cost_.assign(static_cast<size_t>(lanes_) * width_, 0);
  between_.assign(static_cast<size_t>(width_) * width_, kFar);
  least_.resize(static_cast<size_t>(lanes_) * kVector);
  per_link_.assign(static_cast<size_t>(space.link_count()) * PathTable::kSums, 0);
  per_path_.assign(static_cast<size_t>(space.paths().path_count()) * PathTable::kSums, 0);
  hubs_.assign(space.roots().size() * (count + 1) * width_, {});
  costs_.assign(hubs_.size(), kFar);
  Hubs* row = hubs_.data();
  for (int root : space.roots()) {
    row[0].root = root;
    row += width_;
    for (int i = 0; i < count; ++i, row += width_) {
      if (aggregators_[i] == root) continue;
      for (int j = i; j < count; ++j)
        if (aggregators_[j] != root) row[j] = {root, {aggregators_[i], j > i ? aggregators_[j] : -1}, 0};
    }
  }
}

void Oracle::price_legs(const double* price) {
  constexpr int kSums = PathTable::kSums;
  const PathTable& paths = space_.paths();
  const int links = space_.link_count();
  for (int e = 0; e < links; ++e) {
    double* const l = &per_link_[static_cast<size_t>(e) * kSums];
    l[0] = price[e];
    l[1] = price[space_.reverse(e)];
    l[2] = l[0] + l[1];
  }
  paths.sums(per_link_.data(), per_path_.data());
  for (int from = 0; from < sites_; ++from) {
    const bool summed = space_.problem().sites[from].aggregates;
    for (int to : aggregators_) {
      float best = from == to ? 0 : kFar;
      const int first = paths.first(from, to), last = paths.last(from, to);
      int& chosen = path_[from * sites_ + to];
      if (from != to && summed) {
        for (int p = first; p < last; ++p) {
          const float sum = static_cast<float>(per_path_[static_cast<size_t>(p) * kSums + 2]);
          const bool better = (sum < best) & space_.alive(p);  // without jumps
          best = better ? sum : best;
          chosen = better ? p : chosen;
        }
      } else if (from != to) {
        // Where the switch cannot sum, results come by the default path whatever way gradients went.
        const int path = space_.default_path(from, to);
        const double back = path >= 0 ? back_price(path) : 0;
        for (int p = first; p < last; ++p) {
          if (!space_.alive(p)) continue;
          double sum = back;
          for (int e : paths.links(p)) sum += price[e];
          if (!(static_cast<float>(sum) < best)) continue;
          best = static_cast<float>(sum);
          chosen = p;
        }
      }
      cost_[from * sites_ + to] = best;
    }
  }
}

template <int kBlocks>
void Oracle::price_hubs(int root, float* costs) {
  const int count = static_cast<int>(aggregators_.size()), width = width_;
  const float* const to_root = &between_[root * width];
  const float* const child_cost = child_cost_.data();
  float* const least = least_.data();
  const auto set_least = [&](int first) {  // of a child's costs to the root and to another
    for (int c = 0; c < kBlocks * kStrands; ++c) {
      const float* const cost = child_cost + c * width;
      const float l = cost[first] < cost[root] ? cost[first] : cost[root];
      const Vector four = {l, l, l, l};
      std::memcpy(least + c * kVector, &four, sizeof four);
    }
  };
  const auto sum_at = [&](int place) {  // over children, with four more aggregators to choose from
    const auto child = [&](int c) {
      const Vector l = load(least + c * kVector), other = load(child_cost + c * width + place);
      return other < l ? other : l;
    };
    Vector total{};
    for (int s = 0; s < kStrands; ++s) {
      Vector strand = child(s);
      for (int block = 1; block < kBlocks; ++block) strand += child(block * kStrands + s);
      total += strand;
    }
    return total;
  };
  set_least(root);
  for (int j = 0; j < count; j += kVector) {  // the root and one more: to where each stands by itself
    const Vector alone = sum_at(j);
    for (int k = 0; k < kVector && j + k < count; ++k) {
      if (j + k == root)
        costs[0] = alone[k];
      else
        costs[(j + k + 1) * width + j + k] = alone[k] + to_root[j + k];
    }
  }
  for (int i = 0; i < count; ++i) {
    if (i == root) continue;
    float* const row = costs + (i + 1) * width;
    const float own = row[i];
    set_least(i);
    for (int j = i / kVector * kVector; j < count; j += kVector) {
      const Vector sum = sum_at(j) + to_root[i] + load(to_root + j);
      std::memcpy(row + j, &sum, sizeof sum);
    }
    row[i] = own;
  }
}

void Oracle::set_prices(const double* price) {
  price_legs(price);
  const int count = static_cast<int>(aggregators_.size());
  const auto& children = space_.problem().children;
  for (size_t c = 0; c < children.size(); ++c)
    for (int a = 0; a < count; ++a) child_cost_[c * width_ + a] = leg_cost(children[c].site, aggregators_[a]);
  for (int to = 0; to < count; ++to)
    for (int from = 0; from < count; ++from)
      between_[to * width_ + from] = leg_cost(aggregators_[from], aggregators_[to]);
  float* costs = costs_.data();
  constexpr decltype(&Oracle::price_hubs<1>) kByBlocks[] = {&Oracle::price_hubs<1>, &Oracle::price_hubs<2>,
                                                            &Oracle::price_hubs<3>, &Oracle::price_hubs<4>};
  const auto price_root = kByBlocks[lanes_ / kStrands - 1];
  int at = 0;
  for (int root : space_.roots()) {
    while (aggregators_[at] != root) ++at;
    (this->*price_root)(at, costs);
    costs += (count + 1) * width_;
  }
}

std::vector<Hubs> Oracle::all() const {
  std::vector<Hubs> out;
  for (size_t i = 0; i < hubs_.size(); ++i) {
    if (hubs_[i].root < 0) continue;
    out.push_back(hubs_[i]);
    out.back().cost = costs_[i];
  }
  return out;
}

void Oracle::cheapest(int count, int per_root, std::vector<Hubs>& out) const {
  out.clear();
  std::vector<Hubs> heap = all();
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
  return space_.normalise(tree);
}

}  // namespace l3dml::drl
