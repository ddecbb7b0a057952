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

// Of what two trees take of the links. Takes are small whole numbers, so the product is exact in any order.
double product(const double* a, const double* b, int n) {
  double even = 0, odd = 0;
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    even += a[i] * b[i];
    odd += a[i + 1] * b[i + 1];
  }
  return even + odd + (i < n ? a[i] * b[i] : 0);
}

double norm(const Column& column, int links) {
  double sum = 1e-12;
  for (int e = 0; e < links; ++e) sum += column.takes[e] * column.takes[e];
  return sum;
}

}  // namespace

Refine::Refine(const Space& space, int steps)
    : space_(space),
      pricing_(std::make_shared<PricingTree>(space)),
      steps_left_(steps),
      steps_(std::max(1, steps)),
      columns_(std::max(0, steps) + 2),
      norm_(columns_.size()),
      candidates_(kMaxCandidates),
      smooth_(space.row_count(), 0),
      room_(space.row_count()),
      size_(space.link_count()),
      price_(space.row_count(), 0) {
  for (int i = 0; i < space.row_count(); ++i) room_[i] = std::max(1.0, space.capacity()[i]);
  const double most = *std::max_element(room_.begin(), room_.begin() + space.link_count());
  for (int e = 0; e < space.link_count(); ++e)
    size_[e] = static_cast<float>(log_of(space.capacity()[e] / most));
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
      norm_(other.norm_),
      column_count_(other.column_count_),
      candidates_(other.candidates_),
      candidate_count_(other.candidate_count_),
      allocation_(other.allocation_),
      smooth_(other.smooth_),
      room_(other.room_),
      size_(other.size_),
      observation_(other.observation_),
      price_(other.price_) {}

// The two best trees by themselves, of roomy ones, fast ones and those between.
void Refine::start() {
  std::vector<Column> first;
  for (double weight : {1.0, 0.2, 0.02}) {
    for (int e = 0; e < space_.link_count(); ++e) price_[e] = weight * space_.bits() / room_[e];
    pricing_->set_prices(price_);
    pricing_->begin(5, 1, kUnlimited);
    while (const Hubs* hubs = pricing_->next()) {
      const Tree tree = pricing_->tree(*hubs);
      if (std::none_of(first.begin(), first.end(), [&](const Column& c) { return c.tree == tree; }))
        first.push_back(space_.column(tree));
    }
  }
  if (Draft other = greedy(space_); !other.columns.empty()) first.push_back(std::move(other.columns[0]));
  std::vector<double> alone;
  for (const Column& c : first) alone.push_back(c.alone_s);
  for (int i = 0; i < 2; ++i) {
    const auto best = std::min_element(alone.begin(), alone.end());
    if (best == alone.end() || !std::isfinite(*best)) break;
    *best = kUnlimited;
    norm_[column_count_] = norm(first[best - alone.begin()], space_.link_count());
    columns_[column_count_++] = first[best - alone.begin()];
  }
  solve();
  smooth_ = allocation_.pressure;
  first_s_ = allocation_.time_s;
}

void Refine::solve() {
  pointers_.clear();
  for (int i = 0; i < column_count_; ++i) pointers_.push_back(&columns_[i]);
  if (!pointers_.empty()) allocation_ = solver_.solve(space_, pointers_);
  allocation_.pressure.resize(space_.row_count(), 0);
  allocation_.load.resize(space_.row_count(), 0);
}

void Refine::price(Candidate& c) const {
  const double bits = space_.bits();
  double cost = 0, smooth = 0;
  for (int i = 0; i < space_.row_count(); ++i) {
    const double unit = c.column.takes[i] * bits / room_[i];
    cost += allocation_.pressure[i] * unit;
    smooth += smooth_[i] * unit;
  }
  c.cost_s = cost;
  c.smooth_cost_s = smooth;
}

// By duality the price of a row in seconds per unit of rate: pressures sum to 1, rates times gains to the
// tensor's bits.
void Refine::gather(const std::vector<double>& pressure, int count, int blend) {
  for (int i = 0; i < space_.row_count(); ++i)
    price_[i] = (pressure[i] + (i < space_.link_count() ? kFloor / space_.link_count() : 0)) * space_.bits() /
                room_[i];
  pricing_->set_prices(price_);
  pricing_->begin(kTries, kTries / 2, allocation_.time_s);
  for (int rank = 0; rank < count && candidate_count_ < kMaxCandidates;) {
    const Hubs* hubs = pricing_->next();
    if (!hubs) return;
    const Tree tree = pricing_->tree(*hubs);
    const auto used = candidates_.begin() + candidate_count_;
    if (std::any_of(candidates_.begin(), used, [&](const Candidate& c) { return c.column.tree == tree; }) ||
        std::find(refused_.begin(), refused_.end(), tree) != refused_.end())
      continue;
    Candidate& c = *used;
    space_.fill(tree, c.column);
    c.blend = blend;
    c.rank = rank + 1;
    price(c);
    if (allocation_.time_s - c.column.latency_s - c.cost_s > kGain * allocation_.time_s) {
      ++candidate_count_;
      ++rank;
    } else {
      refused_.push_back(tree);
    }
  }
}

const Observation& Refine::observe() {
  candidate_count_ = 0;
  refused_.clear();
  if (steps_left_ > 0 && std::isfinite(allocation_.time_s)) {
    gather(allocation_.pressure, 6, 0);
    gather(smooth_, 6, 1);
  }
  describe();
  return observation_;
}

void Refine::choose(int candidate) {
  norm_[column_count_] = norm(candidates_[candidate].column, space_.link_count());
  std::swap(columns_[column_count_++], candidates_[candidate].column);
  candidate_count_ = 0;
  const double before = allocation_.time_s;
  solve();
  --steps_left_;
  last_gain_ = std::log(before / allocation_.time_s);
  for (int i = 0; i < space_.row_count(); ++i) smooth_[i] += kSmooth * (allocation_.pressure[i] - smooth_[i]);
}

int Refine::cheapest_candidate() const {
  int best = 0;
  const auto cost = [&](int i) { return candidates_[i].column.latency_s + candidates_[i].cost_s; };
  for (int i = 1; i < candidate_count_; ++i)
    if (cost(i) < cost(best)) best = i;
  return best;
}

Draft Refine::draft() const {
  if (column_count_ == 0) return {};
  return finish(space_, {columns_.begin(), columns_.begin() + column_count_});
}

void Refine::describe_links() {
  Observation& o = observation_;
  const int links = space_.link_count();
  const double time_s = allocation_.time_s, bits = space_.bits();
  for (int e = 0; e < links; ++e) {
    const Link& l = space_.problem().links[e];
    float* f = &o.link[static_cast<size_t>(e) * kLinkFeatures];
    const double sends_s = bits / room_[e];
    *f++ = static_cast<float>(allocation_.load[e]);
    *f++ = bounded(allocation_.pressure[e] * 4);
    *f++ = bounded(smooth_[e] * 4);
    *f++ = log_of(allocation_.pressure[e] * links + 1e-3);
    *f++ = size_[e];
    *f++ = bounded(l.delay_s / time_s * 4);
    *f++ = l.capacity_bps > 0 ? static_cast<float>(l.available_bps / l.capacity_bps) : 0;
    *f++ = log_of(sends_s / time_s);
    *f++ = space_.capacity()[e] <= 1e3 ? 1 : 0;
    *f++ = static_cast<float>(allocation_.load[space_.reverse(e)]);
  }
}

void Refine::describe_candidate(int c) {
  Observation& o = observation_;
  const int links = space_.link_count();
  const double time_s = allocation_.time_s, bits = space_.bits();
  const Candidate& candidate = candidates_[c];
  const Column& column = candidate.column;
  float* const cost_row = &o.cost[static_cast<size_t>(c) * links];
  float* const takes_row = &o.takes[static_cast<size_t>(c) * links];
  double uses = 0, slack = kUnlimited, slot_cost = 0, most = 0;
  for (int i = 0; i < space_.row_count(); ++i) {
    const double takes = column.takes[i];
    if (i < links) cost_row[i] = 0;
    if (takes <= 0) continue;
    slack = std::min(slack, space_.capacity()[i] * (1 - allocation_.load[i]) / takes);
    const double cost = allocation_.pressure[i] * takes * bits / room_[i] / time_s;
    if (i >= links) {
      slot_cost += cost;
      continue;
    }
    uses += takes;
    most = std::max(most, takes);
    cost_row[i] = bounded(cost, 2);
  }
  for (int e = 0; e < links; ++e) takes_row[e] = static_cast<float>(column.takes[e] / std::max(1.0, uses));
  const double own = norm(column, links);
  double alike = 0, same_root = 0;
  for (int j = 0; j < column_count_; ++j) {
    if (allocation_.share[j] <= 1e-6) continue;
    const double both = product(column.takes.data(), columns_[j].takes.data(), links);
    alike = std::max(alike, both / std::sqrt(own * norm_[j]));
    if (columns_[j].tree.root == column.tree.root) same_root += allocation_.share[j];
  }
  float* f = &o.candidate[static_cast<size_t>(c) * kCandidateFeatures];
  *f++ = bounded(1 -
                 (column.latency_s + candidate.cost_s) / time_s);  // gain per unit of rate, reckoned linearly
  *f++ = bounded(1 - (column.latency_s + candidate.smooth_cost_s) / time_s);
  *f++ = bounded(candidate.cost_s / time_s);
  *f++ = bounded(column.latency_s / time_s);
  *f++ = log_of(column.alone_s / time_s);
  *f++ = bounded(slack * std::max(0.0, time_s - column.latency_s) / bits, 1);  // carried by room free now
  *f++ = bounded(slot_cost, 2);
  *f++ = static_cast<float>(column.tree.inner.size());
  *f++ = static_cast<float>(same_root);
  *f++ = static_cast<float>(alike);
  *f++ = static_cast<float>(uses / (2.0 * space_.child_count()));
  *f++ = bounded(most / 4);
  *f++ = static_cast<float>(candidate.rank) / 4;
  *f++ = static_cast<float>(candidate.blend);
}

void Refine::describe() {
  Observation& o = observation_;
  const size_t links = space_.link_count(), count = candidate_count_;
  o.links = space_.link_count();
  o.candidates = candidate_count_;
  o.link.resize(links * kLinkFeatures);
  o.takes.resize(count * links);
  o.cost.resize(count * links);
  o.candidate.resize(count * kCandidateFeatures);
  if (count == 0) {  // the end: nothing is looked at any more
    std::fill(o.link.begin(), o.link.end(), 0.0f);
    return;
  }
  describe_links();
  for (int c = 0; c < candidate_count_; ++c) describe_candidate(c);
  const double time_s = allocation_.time_s;
  int carrying = 0;
  for (double share : allocation_.share) carrying += share > 1e-6;
  double latency_s = kUnlimited;
  for (int i = 0; i < column_count_; ++i) latency_s = std::min(latency_s, columns_[i].latency_s);
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
