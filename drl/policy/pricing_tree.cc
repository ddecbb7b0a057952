#include "drl/policy/pricing_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace l3dml::drl {
namespace {

constexpr float kFar = 1e30f;
constexpr float kNone = 3e38f;  // no choice, or one that was given
constexpr int kWalk = 24;       // legs traded at most

using Vector = float __attribute__((vector_size(16)));
constexpr int kVector = 4;

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

float least_of(Vector v) { return std::min(std::min(v[0], v[1]), std::min(v[2], v[3])); }

float least_of(const float* values, int count) {  // a multiple of kVector
  Vector least = load(values);
  for (int i = kVector; i < count; i += kVector) {
    const Vector v = load(values + i);
    least = v < least ? v : least;
  }
  return least_of(least);
}

// Of a value that is there: the first place.
int place_of(const float* values, float value) {
  int i = 0;
  for (const Vector wanted = {value, value, value, value};; i += kVector) {
    const auto same = load(values + i) == wanted;
    std::array<int64_t, 2> words;
    std::memcpy(&words, &same, sizeof words);
    if (words[0] | words[1]) break;
  }
  while (values[i] != value) ++i;
  return i;
}

}  // namespace

PricingTree::PricingTree(const Space& space)
    : space_(space), oracle_(space), has_child_(space.site_count(), 0) {
  const auto& children = space.problem().children;
  const int count = space.child_count(), width = oracle_.row_width();
  const std::vector<Hubs>& places = oracle_.places();
  const auto delay = [&](int from, int to) {
    if (from == to) return 0.0f;
    const int path = space.default_path(from, to);
    return path < 0 ? kFar : static_cast<float>(space.paths().delay_s(path));
  };
  for (const Child& c : children)
    if (c.summed_at_site) has_child_[c.site] = 1;
  latency_.assign(places.size(), kNone);
  delay_.assign(places.size(), 0);
  row_least_.assign((oracle_.row_count() + kVector - 1) / kVector * kVector, kNone);

  // Fastest ways of children to aggregators, and of aggregators to each other, in the places of a row.
  std::vector<int> aggregators;
  for (int i = 0; i < space.site_count(); ++i)
    if (space.problem().sites[i].aggregates) aggregators.push_back(i);
  const int hubs = static_cast<int>(aggregators.size());
  std::vector<float> fastest(static_cast<size_t>(count) * width, kFar), by_first(count),
      between(static_cast<size_t>(width) * width, kFar);
  for (int a = 0; a < hubs; ++a) {
    for (int c = 0; c < count; ++c) fastest[c * width + a] = delay(children[c].site, aggregators[a]);
    for (int to = 0; to < hubs; ++to) between[to * width + a] = delay(aggregators[a], aggregators[to]);
  }
  float* latency = latency_.data();
  float* least_delay = delay_.data();
  const auto fill_row = [&](const float* beyond) {  // with a second inner aggregator so far from the root
    for (int j = 0; j < width; j += kVector) {
      Vector arrival{}, down{};
      for (int c = 0; c < count; ++c) {
        const Vector other = load(&fastest[c * width + j]) + load(beyond + j);
        const Vector first = Vector{} + by_first[c], d = other < first ? other : first;
        const Vector arrives = d + static_cast<float>(children[c].ready_s);
        arrival = arrival < arrives ? arrives : arrival;
        down = down < d ? d : down;
      }
      arrival += down;
      std::memcpy(latency + j, &arrival, sizeof arrival);
      std::memcpy(least_delay + j, &down, sizeof down);
    }
  };
  int root = 0;
  for (const int site : space.roots()) {
    while (aggregators[root] != site) ++root;
    const float* const to_root = &between[root * width];
    for (int row = 0; row <= hubs; ++row, latency += width, least_delay += width) {
      for (int c = 0; c < count; ++c) {
        const float* const ways = &fastest[c * width];
        by_first[c] = row == 0 ? ways[root] : std::min(ways[root], ways[row - 1] + to_root[row - 1]);
      }
      if (row != 0) fill_row(to_root);
      if (row != 0 && row - 1 == root) continue;
      float arrival = 0, down = 0;  // without a second one
      for (int c = 0; c < count; ++c) {
        arrival = std::max(arrival, static_cast<float>(children[c].ready_s) + by_first[c]);
        down = std::max(down, by_first[c]);
      }
      latency[std::max(0, row - 1)] = arrival + down;
      least_delay[std::max(0, row - 1)] = down;
    }
  }
  for (size_t at = 0; at < places.size(); ++at)
    if (places[at].root < 0) latency_[at] = kNone;
}

void PricingTree::set_prices(const std::vector<double>& price) {
  oracle_.set_prices(price.data());
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

void PricingTree::begin(int count, int per_root, double limit_s) {
  limit_ = static_cast<float>(std::min(limit_s, 1e29));
  count_ = count;
  per_root_ = per_root;
  given_ = looked_at_ = 0;
  taken_.assign(space_.site_count(), 0);
  const std::vector<float>& costs = oracle_.costs();
  const size_t places = costs.size();
  bound_.resize(places);
  if (slots_priced_) {
    for (size_t i = 0; i < places; ++i)
      bound_[i] =
          costs[i] + latency_[i] +
          (oracle_.places()[i].root < 0 ? 0 : 2 * static_cast<float>(sigma(oracle_.places()[i])) * delay_[i]);
  } else {
    for (size_t i = 0; i < places; ++i) bound_[i] = costs[i] + latency_[i];
  }
  const int width = oracle_.row_width();
  for (int r = 0; r < oracle_.row_count(); ++r) row_least_[r] = least_of(&bound_[r * width], width);
}

const Hubs* PricingTree::next() {
  const int width = oracle_.row_width();
  while (given_ < count_ && looked_at_ < 4 * count_) {
    const float least = least_of(row_least_.data(), static_cast<int>(row_least_.size()));
    if (!(least < limit_)) return nullptr;
    const int row = place_of(row_least_.data(), least);
    float* const bounds = &bound_[row * width];
    const int place = place_of(bounds, least);
    bounds[place] = kNone;
    row_least_[row] = least_of(bounds, width);
    ++looked_at_;
    const Hubs& hubs = oracle_.places()[row * width + place];
    if (taken_[hubs.root] >= per_root_) continue;
    ++taken_[hubs.root];
    ++given_;
    return &hubs;
  }
  return nullptr;
}

double PricingTree::leg_cost(int child, const Leg& leg) const {
  if (leg.path == kSameSite) return 0;
  const Child& c = space_.problem().children[child];
  if (c.summed_at_site) return oracle_.path_price(leg.path);
  const int back = space_.default_path(c.site, leg.parent);
  return oracle_.up_price(leg.path) + oracle_.path_price(back) - oracle_.up_price(back);
}

Tree PricingTree::tree(const Hubs& hubs) {
  Tree tree = oracle_.tree(hubs), best_tree = tree;
  const PathTable& paths = space_.paths();
  const auto& children = space_.problem().children;
  const int count = space_.child_count();
  const double down_weight = 1 + 2 * sigma(hubs);
  double cost = 0, best = kUnlimited;  // relative to the first tree
  // Candidates are in order of delay, but for a microsecond per link.
  const double unordered_s = 1e-6 * space_.site_count();
  TreeDelays delays = tree_delays(space_, tree);
  double arrival_s[kMaxChildren];
  for (int c = 0; c < count; ++c) arrival_s[c] = children[c].ready_s + delays.up_s[c];
  for (int step = 0; step <= kWalk; ++step) {
    int late = 0, far = 0;
    double last_s = arrival_s[0], farthest_s = delays.down_s[0];
    for (int c = 1; c < count; ++c) {  // without jumps: which is the largest, nobody can foretell
      const bool later = arrival_s[c] > last_s, farther = delays.down_s[c] > farthest_s;
      late = later ? c : late;
      last_s = later ? arrival_s[c] : last_s;
      far = farther ? c : far;
      farthest_s = farther ? delays.down_s[c] : farthest_s;
    }
    const double value = cost + last_s + down_weight * farthest_s;
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
      const double up = delays.up_s[c], now_cost = leg_cost(c, leg);
      const bool summed = children[c].summed_at_site;
      const auto consider = [&](int parent, double beyond_s) {
        const int last = paths.last(children[c].site, parent);
        for (int p = paths.first(children[c].site, parent); p < last; ++p) {
          if (paths.delay_s(p) + beyond_s >= up + unordered_s) break;
          if (paths.delay_s(p) + beyond_s >= up - 1e-12 || !space_.alive(p)) continue;
          const double extra = (summed ? oracle_.path_price(p) : leg_cost(c, {parent, p})) - now_cost;
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
          const double extra = oracle_.path_price(p) - oracle_.path_price(now);
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
    const auto renew = [&](int c) {
      delay_of_child(space_, tree, c, delays);
      arrival_s[c] = children[c].ready_s + delays.up_s[c];
    };
    if (move_child >= 0) {
      renew(move_child);
      continue;
    }
    for (int c = 0; c < count; ++c)
      if (tree.child_legs[c].parent == tree.inner[move_inner]) renew(c);
  }
  return space_.normalise(best_tree);
}

}  // namespace l3dml::drl
