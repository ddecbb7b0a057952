#include "drl/optimum/optimum.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <glpk.h>

#include "absl/strings/str_cat.h"
#include "drl/env/oracle.h"
#include "drl/optimum/pricing.h"

namespace l3dml::drl {
namespace {

// max sum value_j x_j with columns arriving over time; rates in units of `scale` bit/s so that GLPK sees
// numbers near 1.
class Master {
 public:
  Master(const Space& space, double scale) : space_(space), scale_(scale), lp_(glp_create_prob()) {
    glp_set_obj_dir(lp_, GLP_MAX);
    glp_add_rows(lp_, space.row_count());
    for (int i = 0; i < space.row_count(); ++i) {
      const double bound = unit(i) * space.capacity()[i];
      glp_set_row_bnds(lp_, i + 1, GLP_UP, 0, bound);
    }
  }
  ~Master() { glp_delete_prob(lp_); }
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // Row i is divided so that its entries are near 1: link rows by scale, slot rows by slots.
  double unit(int row) const {
    const double c = space_.capacity()[row];
    return row <= space_.access_row() ? 1 / scale_ : (c > 0 ? 1 / c : 1);
  }

  void add(const Column& column, double latency_s) {
    const int j = glp_add_cols(lp_, 1);
    glp_set_col_bnds(lp_, j, GLP_LO, 0, 0);
    std::vector<int> index{0};
    std::vector<double> value{0};
    for (int i = 0; i < space_.row_count(); ++i) {
      if (column.takes[i] <= 0) continue;
      index.push_back(i + 1);
      value.push_back(column.takes[i] * unit(i) * scale_);
    }
    glp_set_mat_col(lp_, j, static_cast<int>(index.size()) - 1, index.data(), value.data());
    latencies_.push_back(latency_s);
  }

  // Solves to the smallest T over the present columns, from `time_s` (which they can reach) downwards.
  double solve(double time_s) {
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.it_lim = 100000;
    for (int step = 0; step < 50; ++step) {
      // GLPK's tolerances are absolute: a job of a few bytes gains nanoseconds, which it would take for 0.
      gain_s_ = 0;
      for (double latency : latencies_) gain_s_ = std::max(gain_s_, time_s - latency);
      if (gain_s_ <= 0) gain_s_ = 1;
      for (size_t j = 0; j < latencies_.size(); ++j)
        glp_set_obj_coef(lp_, static_cast<int>(j) + 1, std::max(0.0, time_s - latencies_[j]) / gain_s_);
      glp_simplex(lp_, &options);
      double rate = 0, offset = 0;
      for (size_t j = 0; j < latencies_.size(); ++j) {
        if (latencies_[j] >= time_s) continue;
        const double x = glp_get_col_prim(lp_, static_cast<int>(j) + 1) * scale_;
        rate += x;
        offset += x * latencies_[j];
      }
      const double next = (space_.bits() + offset) / rate;
      if (!(next < time_s * (1 - 1e-10))) break;
      time_s = next;
    }
    return time_s;
  }

  double price(int row) const {
    return std::max(0.0, glp_get_row_dual(lp_, row + 1)) * gain_s_ * unit(row) * scale_;
  }
  double x(size_t j) const { return glp_get_col_prim(lp_, static_cast<int>(j) + 1); }

 private:
  const Space& space_;
  double scale_;
  glp_prob* lp_;
  double gain_s_ = 1;  // the objective is divided by it
  std::vector<double> latencies_;
};

// What any tree with these hubs has at least: latency and round trip if every child took its fastest leg.
struct Floor {
  double latency_s, round_trip_s;
};

std::vector<Floor> floors(const Space& space, const Oracle& oracle) {
  const auto fastest = [&](int from, int to) {
    if (from == to) return 0.0;
    const int path = space.default_path(from, to);
    return path < 0 ? kUnlimited : space.paths().delay_s(path);
  };
  std::vector<Floor> out;
  for (const Hubs& hubs : oracle.all()) {
    double arrival = 0, delay = 0;
    for (const Child& c : space.problem().children) {
      double best = fastest(c.site, hubs.root);
      for (int inner : hubs.inner)
        if (inner >= 0) best = std::min(best, fastest(c.site, inner) + fastest(inner, hubs.root));
      arrival = std::max(arrival, c.ready_s + best);
      delay = std::max(delay, best);
    }
    out.push_back({arrival + delay, 2 * delay});
  }
  return out;
}

double slot_price(const Space& space, const Master& master, const Hubs& hubs) {  // per second of round trip
  double sum = 0;
  std::vector<int> sites{hubs.root};
  for (int inner : hubs.inner)
    if (inner >= 0) sites.push_back(inner);
  for (const Child& c : space.problem().children)
    if (c.summed_at_site && std::find(sites.begin(), sites.end(), c.site) == sites.end())
      sites.push_back(c.site);
  for (int s : sites)
    if (space.slot_row(s) >= 0) sum += master.price(space.slot_row(s));
  return sum * 4 / (space.problem().job.payload_bytes * 8.0);
}

// How columns are priced. kExact: true latencies, LatencyPricing, the optimum itself. kHeuristic: true
// latencies, several delay weights, a real plan. kRelaxed: latency and round trip of a column are its hubs'
// floors; a lower bound.
enum class Mode { kExact, kHeuristic, kRelaxed };

class Generator {
 public:
  Generator(const Space& space, Mode mode)
      : space_(space),
        mode_(mode),
        oracle_(space),
        exact_(space),
        floor_(floors(space, oracle_)),
        scale_(*std::max_element(space.capacity().begin(),
                                 space.capacity().begin() + std::max(1, space.link_count()))),
        master_(space, std::max(scale_, 1.0)),
        price_(space.link_count()) {}

  double run() {
    start();
    if (!std::isfinite(time_s_)) return time_s_;
    for (int round = 0; round < 5000; ++round) {
      time_s_ = master_.solve(time_s_);
      bool improved = false;
      for (double delay_weight :
           mode_ == Mode::kRelaxed ? std::vector<double>{0} : std::vector<double>{0, 0.2, 1, 4})
        improved = price(delay_weight, false) || improved;
      if (!improved && mode_ == Mode::kExact) improved = price(0, true);
      if (!improved) break;
    }
    return time_s_;
  }

  std::vector<Column> used() {
    std::vector<Column> out;
    for (size_t j = 0; j < columns_.size(); ++j)
      if (columns_[j].latency_s < time_s_ && master_.x(j) > 1e-9) out.push_back(columns_[j]);
    return out;
  }
  int generated() const { return static_cast<int>(columns_.size()); }

 private:
  // False if the master has this tree already: then its price is rounding, and adding it again would go on
  // for ever.
  bool add(Column column, size_t at) {
    if (!known_.insert(key(column.tree)).second) return false;
    if (mode_ == Mode::kRelaxed) {
      const double ratio = column.round_trip_s > 0 ? floor_[at].round_trip_s / column.round_trip_s : 1;
      for (int i = space_.access_row() + 1; i < space_.row_count(); ++i) column.takes[i] *= ratio;
      column.latency_s = floor_[at].latency_s;
      column.alone_s = time_alone(space_, column);
    }
    master_.add(column, column.latency_s);
    columns_.push_back(std::move(column));
    return true;
  }

  static std::vector<int> key(const Tree& tree) {
    std::vector<int> out{tree.root};
    const auto add = [&](const auto& legs) {
      for (const Leg& leg : legs) out.insert(out.end(), {leg.parent, leg.path});
    };
    add(tree.inner_legs);
    add(tree.child_legs);
    out.insert(out.end(), tree.inner.begin(), tree.inner.end());
    return out;
  }

  void start() {  // every root without inner aggregators, roomy paths and fast ones
    for (double delay_price : {0.0, 1e4}) {
      for (int e = 0; e < space_.link_count(); ++e)
        price_[e] = 1e-3 * scale_ / std::max(1.0, space_.capacity()[e]) +
                    delay_price * space_.problem().links[e].delay_s;
      oracle_.set_prices(price_.data());
      const std::vector<Hubs> all = oracle_.all();
      for (size_t i = 0; i < all.size(); ++i) {
        const Hubs& hubs = all[i];
        if (hubs.inner[0] >= 0 || hubs.cost >= 1e30f) continue;
        if (add(space_.column(oracle_.tree(hubs)), i))
          time_s_ = std::min(time_s_, time_alone(space_, columns_.back()));
      }
    }
  }

  // Adds up to six of the most profitable trees that the oracle or (exactly) LatencyPricing finds.
  bool price(double delay_weight, bool exactly) {
    const double access = master_.price(space_.access_row());
    const double tolerance = 1e-6 * time_s_;
    for (int e = 0; e < space_.link_count(); ++e)
      price_[e] = master_.price(e) + 0.5 * delay_weight * space_.problem().links[e].delay_s;
    oracle_.set_prices(price_.data());
    if (exactly) exact_.set_prices(price_);
    struct Promise {
      double profit, slot_price;
      size_t at;
    };
    std::vector<Promise> promising;
    const std::vector<Hubs> all = oracle_.all();
    for (size_t i = 0; i < all.size(); ++i) {
      const Hubs& hubs = all[i];
      if (hubs.cost >= 1e30f) continue;
      const double slots = slot_price(space_, master_, hubs);
      const double cost =
          delay_weight == 0 ? static_cast<double>(hubs.cost) * (1 - 1e-6) : 0;  // it is a float
      const double profit = time_s_ - floor_[i].latency_s - access - slots * floor_[i].round_trip_s - cost;
      if (profit > tolerance) promising.push_back({profit, slots, i});
    }
    std::sort(promising.begin(), promising.end(),
              [](const Promise& a, const Promise& b) { return a.profit > b.profit; });
    int added = 0;
    for (const Promise& p : promising) {
      const Hubs& hubs = all[p.at];
      Tree tree;
      double value = 0;
      if (exactly) {
        const double limit = time_s_ - access - tolerance;
        if (!exact_.best(hubs, 1 + 2 * p.slot_price, limit, tree, value)) continue;
      } else {
        tree = oracle_.tree(hubs);
      }
      Column column = space_.column(tree);
      if (!exactly && mode_ != Mode::kRelaxed) {
        double cost = column.latency_s;
        for (int i = 0; i < space_.row_count(); ++i) cost += column.takes[i] * master_.price(i);
        if (time_s_ - cost <= tolerance) continue;
      }
      if (add(std::move(column), p.at) && ++added >= 6) break;
    }
    return added > 0;
  }

  const Space& space_;
  Mode mode_;
  Oracle oracle_;
  LatencyPricing exact_;
  std::vector<Floor> floor_;
  double scale_;
  Master master_;
  std::vector<double> price_;
  std::vector<Column> columns_;
  std::set<std::vector<int>> known_;
  double time_s_ = kUnlimited;
};

void enumerate_legs(const Space& space, Tree& tree, size_t next, std::vector<Column>& out) {
  const size_t inner = tree.inner.size();
  if (next == inner + space.problem().children.size()) {
    Tree copy = space.normalise(tree);
    if (copy == tree) out.push_back(space.column(copy));
    return;
  }
  const bool is_inner = next < inner;
  const int from = is_inner ? tree.inner[next] : space.problem().children[next - inner].site;
  Leg& leg = is_inner ? tree.inner_legs[next] : tree.child_legs[next - inner];
  std::vector<int> parents{tree.root};
  if (!is_inner) parents.insert(parents.end(), tree.inner.begin(), tree.inner.end());
  if (!is_inner && std::find(parents.begin(), parents.end(), from) != parents.end()) {
    leg = {from, kSameSite};
    enumerate_legs(space, tree, next + 1, out);
    return;
  }
  for (int parent : parents)
    for (int p = space.paths().first(from, parent); p < space.paths().last(from, parent); ++p)
      if (space.alive(p)) {
        leg = {parent, p};
        enumerate_legs(space, tree, next + 1, out);
      }
}

}  // namespace

absl::StatusOr<Bracket> bracket(const Space& space) {
  const auto& children = space.problem().children;
  const bool exact =
      std::all_of(children.begin(), children.end(), [](const Child& c) { return c.summed_at_site; });
  Bracket result;
  Generator plan(space, exact ? Mode::kExact : Mode::kHeuristic);
  result.upper_s = result.lower_s = plan.run();
  if (!std::isfinite(result.upper_s))
    return absl::FailedPreconditionError(
        "no plan has a positive rate: switches without slots or links without room");
  result.columns = plan.used();
  result.generated = plan.generated();
  if (!exact) {
    Generator relaxed(space, Mode::kRelaxed);
    result.lower_s = std::min(result.upper_s, relaxed.run());
    result.generated += relaxed.generated();
  }
  return result;
}

absl::StatusOr<std::vector<Column>> enumerate_columns(const Space& space, long limit) {
  std::vector<Column> out;
  const Oracle oracle(space);
  for (const Hubs& hubs : oracle.all()) {
    Tree tree;
    tree.root = hubs.root;
    double size = 1;
    for (int inner : hubs.inner)
      if (inner >= 0) tree.inner.push_back(inner);
    tree.inner_legs.resize(tree.inner.size());
    tree.child_legs.resize(space.problem().children.size());
    for (size_t i = 0; i < tree.inner.size() + tree.child_legs.size(); ++i)
      size *=
          space.paths().k() * (i < tree.inner.size() ? 1.0 : 1.0 + static_cast<double>(tree.inner.size()));
    if (size > 50.0 * static_cast<double>(limit))
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " trees, use bracket()"));
    enumerate_legs(space, tree, 0, out);
    if (static_cast<long>(out.size()) > limit)
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limit, " trees, use bracket()"));
  }
  return out;
}

absl::StatusOr<double> enumerate(const Space& space, long limit) {
  auto columns = enumerate_columns(space, limit);
  if (!columns.ok()) return columns.status();
  double scale = 0, time_s = kUnlimited;
  for (int e = 0; e < space.link_count(); ++e) scale = std::max(scale, space.capacity()[e]);
  Master master(space, scale);
  for (const Column& c : *columns) {
    master.add(c, c.latency_s);
    time_s = std::min(time_s, time_alone(space, c));
  }
  return std::isfinite(time_s) ? master.solve(time_s) : time_s;
}

}  // namespace l3dml::drl
