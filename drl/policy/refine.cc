#include "drl/policy/refine.h"

#include <algorithm>
#include <cmath>

namespace l3dml::drl {
namespace {

constexpr double kFloor = 0.02;   // pressure spread over all links, so that free links have a price too
constexpr double kSmooth = 0.35;  // weight of the newest pressure in the running mean
constexpr int kTries = 24;        // trees looked at per blend
constexpr double kGain = 1e-7;    // of an iteration: below this a candidate gains nothing

float bounded(double x, double limit = 4) { return static_cast<float>(std::clamp(x, -limit, limit)); }
float log_of(double x) { return bounded(std::log(std::max(x, 1e-6)) / 2); }

double similarity(const std::vector<double>& a, const std::vector<double>& b, int n) {
  double ab = 0, aa = 1e-12, bb = 1e-12;
  for (int i = 0; i < n; ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

Refine::Refine(const Space& space, int steps)
    : space_(space),
      pricing_(std::make_shared<PricingTree>(space)),
      steps_left_(steps),
      steps_(std::max(1, steps)),
      smooth_(space.row_count(), 0),
      price_(space.row_count(), 0) {
  start();
}

Refine::Refine(const Refine& other)
    : space_(other.space_),
      pricing_(std::make_shared<PricingTree>(*other.pricing_)),
      solver_(other.solver_),
      steps_left_(other.steps_left_),
      steps_(other.steps_),
      last_gain_(other.last_gain_),
      first_s_(other.first_s_),
      columns_(other.columns_),
      allocation_(other.allocation_),
      smooth_(other.smooth_),
      candidates_(other.candidates_),
      observation_(other.observation_),
      price_(other.price_) {}

// The two best trees by themselves, of roomy ones, fast ones and those between.
void Refine::start() {
  std::vector<Column> first;
  for (double weight : {1.0, 0.2, 0.02}) {
    for (int e = 0; e < space_.link_count(); ++e)
      price_[e] = weight * space_.bits() / std::max(1.0, space_.capacity()[e]);
    pricing_->set_prices(price_);
    pricing_->promising(5, 1, kUnlimited, hubs_);
    for (const Hubs& hubs : hubs_) {
      Tree tree = pricing_->tree(hubs);
      if (std::none_of(first.begin(), first.end(), [&](const Column& c) { return c.tree == tree; }))
        first.push_back(space_.column(std::move(tree)));
    }
  }
  if (Draft other = greedy(space_); !other.columns.empty()) first.push_back(std::move(other.columns[0]));
  std::vector<double> alone;
  for (const Column& c : first) alone.push_back(time_alone(space_, c));
  for (int i = 0; i < 2; ++i) {
    const auto best = std::min_element(alone.begin(), alone.end());
    if (best == alone.end() || !std::isfinite(*best)) break;
    *best = kUnlimited;
    columns_.push_back(first[best - alone.begin()]);
  }
  solve();
  smooth_ = allocation_.pressure;
  first_s_ = allocation_.time_s;
}

void Refine::solve() {
  std::vector<const Column*> pointers;
  for (const Column& c : columns_) pointers.push_back(&c);
  if (!pointers.empty()) allocation_ = solver_.solve(space_, std::move(pointers));
  allocation_.pressure.resize(space_.row_count(), 0);
  allocation_.load.resize(space_.row_count(), 0);
}

// By duality the price of a row in seconds per unit of rate: pressures sum to 1, rates times gains to the
// tensor's bits.
void Refine::gather(const std::vector<double>& pressure, int count, int blend) {
  for (int i = 0; i < space_.row_count(); ++i)
    price_[i] = (pressure[i] + (i < space_.link_count() ? kFloor / space_.link_count() : 0)) * space_.bits() /
                std::max(1.0, space_.capacity()[i]);
  pricing_->set_prices(price_);
  pricing_->promising(kTries, kTries / 2, allocation_.time_s, hubs_);
  int rank = 0;
  for (const Hubs& hubs : hubs_) {
    if (rank >= count || static_cast<int>(candidates_.size()) >= kMaxCandidates) return;
    Tree tree = pricing_->tree(hubs);
    if (std::any_of(candidates_.begin(), candidates_.end(),
                    [&](const Candidate& c) { return c.column.tree == tree; }))
      continue;
    Candidate c{space_.column(std::move(tree)), blend, rank + 1, 0, 0};
    for (int i = 0; i < space_.row_count(); ++i) {
      if (c.column.takes[i] <= 0) continue;
      const double unit = c.column.takes[i] * space_.bits() / std::max(1.0, space_.capacity()[i]);
      c.cost_s += allocation_.pressure[i] * unit;
      c.smooth_cost_s += smooth_[i] * unit;
    }
    if (allocation_.time_s - c.column.latency_s - c.cost_s > kGain * allocation_.time_s) {
      candidates_.push_back(std::move(c));
      ++rank;
    }
  }
}

const Observation& Refine::observe() {
  candidates_.clear();
  if (steps_left_ > 0 && std::isfinite(allocation_.time_s)) {
    gather(allocation_.pressure, 6, 0);
    gather(smooth_, 6, 1);
  }
  describe();
  return observation_;
}

void Refine::choose(int candidate) {
  columns_.push_back(std::move(candidates_[candidate].column));
  candidates_.clear();
  const double before = allocation_.time_s;
  solve();
  --steps_left_;
  last_gain_ = std::log(before / allocation_.time_s);
  for (int i = 0; i < space_.row_count(); ++i) smooth_[i] += kSmooth * (allocation_.pressure[i] - smooth_[i]);
}

int Refine::cheapest_candidate() const {
  int best = 0;
  const auto cost = [&](int i) { return candidates_[i].column.latency_s + candidates_[i].cost_s; };
  for (int i = 1; i < static_cast<int>(candidates_.size()); ++i)
    if (cost(i) < cost(best)) best = i;
  return best;
}

Draft Refine::draft() const {
  if (columns_.empty()) return {};
  return finish(space_, columns_);
}

void Refine::describe() {
  Observation& o = observation_;
  const int links = space_.link_count(), count = static_cast<int>(candidates_.size());
  const double time_s = allocation_.time_s, bits = space_.bits();
  o.links = links;
  o.candidates = count;
  o.link.assign(static_cast<size_t>(links) * kLinkFeatures, 0);
  o.takes.assign(static_cast<size_t>(count) * links, 0);
  o.cost.assign(static_cast<size_t>(count) * links, 0);
  o.candidate.assign(static_cast<size_t>(count) * kCandidateFeatures, 0);
  if (count == 0) return;
  double room = 1;
  for (int e = 0; e < links; ++e) room = std::max(room, space_.capacity()[e]);
  for (int e = 0; e < links; ++e) {
    const Link& l = space_.problem().links[e];
    float* f = &o.link[static_cast<size_t>(e) * kLinkFeatures];
    const double sends_s = bits / std::max(1.0, space_.capacity()[e]);
    *f++ = static_cast<float>(allocation_.load[e]);
    *f++ = bounded(allocation_.pressure[e] * 4);
    *f++ = bounded(smooth_[e] * 4);
    *f++ = log_of(allocation_.pressure[e] * links + 1e-3);
    *f++ = log_of(space_.capacity()[e] / room);
    *f++ = bounded(l.delay_s / time_s * 4);
    *f++ = l.capacity_bps > 0 ? static_cast<float>(l.available_bps / l.capacity_bps) : 0;
    *f++ = log_of(sends_s / time_s);
    *f++ = space_.capacity()[e] <= 1e3 ? 1 : 0;
    *f++ = static_cast<float>(allocation_.load[space_.reverse(e)]);
  }
  for (int c = 0; c < count; ++c) {
    const Candidate& candidate = candidates_[c];
    const Column& column = candidate.column;
    double uses = 0, slack = kUnlimited, slot_cost = 0, most = 0;
    for (int i = 0; i < space_.row_count(); ++i) {
      const double takes = column.takes[i];
      if (takes <= 0) continue;
      slack = std::min(slack, space_.capacity()[i] * (1 - allocation_.load[i]) / takes);
      const double cost =
          allocation_.pressure[i] * takes * bits / std::max(1.0, space_.capacity()[i]) / time_s;
      if (i >= links) {
        slot_cost += cost;
        continue;
      }
      uses += takes;
      most = std::max(most, takes);
      o.cost[static_cast<size_t>(c) * links + i] = bounded(cost, 2);
    }
    for (int e = 0; e < links; ++e)
      o.takes[static_cast<size_t>(c) * links + e] = static_cast<float>(column.takes[e] / std::max(1.0, uses));
    double alike = 0, same_root = 0;
    for (size_t j = 0; j < columns_.size(); ++j) {
      if (allocation_.share[j] <= 1e-6) continue;
      alike = std::max(alike, similarity(column.takes, columns_[j].takes, links));
      if (columns_[j].tree.root == column.tree.root) same_root += allocation_.share[j];
    }
    float* f = &o.candidate[static_cast<size_t>(c) * kCandidateFeatures];
    *f++ = bounded(1 - (column.latency_s + candidate.cost_s) /
                           time_s);  // gain per unit of rate, reckoned linearly
    *f++ = bounded(1 - (column.latency_s + candidate.smooth_cost_s) / time_s);
    *f++ = bounded(candidate.cost_s / time_s);
    *f++ = bounded(column.latency_s / time_s);
    *f++ = log_of(time_alone(space_, column) / time_s);
    *f++ = bounded(slack * std::max(0.0, time_s - column.latency_s) / bits,
                   1);  // carried by room that is free now
    *f++ = bounded(slot_cost, 2);
    *f++ = static_cast<float>(column.tree.inner.size());
    *f++ = static_cast<float>(same_root);
    *f++ = static_cast<float>(alike);
    *f++ = static_cast<float>(uses / (2.0 * space_.child_count()));
    *f++ = bounded(most / 4);
    *f++ = static_cast<float>(candidate.rank) / 4;
    *f++ = static_cast<float>(candidate.blend);
  }
  int carrying = 0;
  for (double share : allocation_.share) carrying += share > 1e-6;
  double latency_s = kUnlimited;
  for (const Column& c : columns_) latency_s = std::min(latency_s, c.latency_s);
  o.global = {static_cast<float>(steps_left_) / 8,
              static_cast<float>(steps_left_) / static_cast<float>(steps_),
              log_of(space_.child_count() / 8.0),
              static_cast<float>(carrying) / 8,
              static_cast<float>(carrying) / static_cast<float>(space_.problem().job.max_stripes),
              bounded(last_gain_ * 10),
              bounded(std::log(first_s_ / time_s)),
              bounded(latency_s / time_s)};
}

}  // namespace l3dml::drl
