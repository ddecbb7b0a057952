#include "drl/policy/baselines.h"

#include <algorithm>
#include <cmath>

#include "drl/env/random.h"

namespace l3dml::drl {
namespace {

std::vector<const Column*> pointers(const std::vector<Column>& columns) {
  std::vector<const Column*> out;
  for (const Column& c : columns) out.push_back(&c);
  return out;
}

template <typename PickPath>  // int pick(int child, int root)
Tree flat_tree(const Space& space, int root, PickPath pick) {
  Tree tree;
  tree.root = root;
  for (int c = 0; c < space.child_count(); ++c)
    tree.child_legs.push_back({root, space.problem().children[c].site == root ? kSameSite : pick(c, root)});
  return tree;
}

Tree default_tree(const Space& space, int root) {
  return flat_tree(space, root,
                   [&](int c, int r) { return space.default_path(space.problem().children[c].site, r); });
}

int nearest_root(const Space& space) {
  int best = -1;
  double best_delay = kUnlimited;
  for (int root : space.roots()) {
    double delay = 0;
    for (const Leg& leg : default_tree(space, root).child_legs)
      delay += leg.path == kSameSite ? 0 : space.paths().delay_s(leg.path);
    if (delay < best_delay) {
      best_delay = delay;
      best = root;
    }
  }
  return best;
}

double width(const Space& space, int path) {  // room of the path and of its way back
  double w = kUnlimited;
  for (int e : space.paths().links(path))
    w = std::min(w, std::min(space.capacity()[e], space.capacity()[space.reverse(e)]));
  return w;
}

int widest_path(const Space& space, int from, int to) {
  int best = -1;
  for (int p = space.paths().first(from, to); p < space.paths().last(from, to); ++p)
    if (space.alive(p) && (best < 0 || width(space, p) > width(space, best))) best = p;
  return best;
}

// `width_of`: of every path.
Tree greedy_tree(const Space& space, int root, const std::vector<double>& width_of) {
  const int children = space.child_count();
  std::vector<int> order;
  std::vector<double> room(children, kUnlimited);
  for (int c = 0; c < children; ++c) {
    const int site = space.problem().children[c].site;
    if (site == root) continue;
    order.push_back(c);
    double widest = -1;
    for (int p = space.paths().first(site, root); p < space.paths().last(site, root); ++p)
      if (space.alive(p)) widest = std::max(widest, width_of[p]);
    room[c] = widest;
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return room[a] < room[b]; });
  Tree tree = flat_tree(space, root, [](int, int) { return kSameSite; });
  std::vector<double> use(space.link_count(), 0);
  for (int c : order) {
    const Child& child = space.problem().children[c];
    int best = -1;
    double best_rate = -1;
    for (int p = space.paths().first(child.site, root); p < space.paths().last(child.site, root); ++p) {
      if (!space.alive(p)) continue;
      const int back = child.summed_at_site ? p : space.default_path(child.site, root);
      double rate = kUnlimited;
      for (int e : space.paths().links(p)) rate = std::min(rate, space.capacity()[e] / (use[e] + 1));
      for (int e : space.paths().links(back)) {
        const int r = space.reverse(e);
        rate = std::min(rate, space.capacity()[r] / (use[r] + 1));
      }
      if (rate > best_rate * (1 + 1e-9)) {  // earlier candidates are shorter
        best_rate = rate;
        best = p;
      }
    }
    tree.child_legs[c] = {root, best};
    const int back = child.summed_at_site ? best : space.default_path(child.site, root);
    for (int e : space.paths().links(best)) use[e] += 1;
    for (int e : space.paths().links(back)) use[space.reverse(e)] += 1;
  }
  return tree;
}

int random_path(const Space& space, Random& random, int from, int to) {
  std::vector<int> alive;
  for (int p = space.paths().first(from, to); p < space.paths().last(from, to); ++p)
    if (space.alive(p)) alive.push_back(p);
  return alive.empty() ? -1 : alive[random.below(static_cast<int>(alive.size()))];
}

Tree random_tree(const Space& space, Random& random) {
  Tree tree;
  tree.root = space.roots()[random.below(static_cast<int>(space.roots().size()))];
  for (int want = random.below(kMaxInner + 1); want > 0; --want) {
    const int site = random.below(space.site_count());
    if (!space.problem().sites[site].aggregates || site == tree.root) continue;
    if (std::find(tree.inner.begin(), tree.inner.end(), site) != tree.inner.end()) continue;
    const int path = random_path(space, random, site, tree.root);
    if (path < 0) continue;
    tree.inner.push_back(site);
    tree.inner_legs.push_back({tree.root, path});
  }
  for (const Child& c : space.problem().children) {
    int parent = tree.root;
    const int pick = random.below(static_cast<int>(tree.inner.size()) + 1);
    if (pick > 0 && (tree.inner[pick - 1] == c.site || space.default_path(c.site, tree.inner[pick - 1]) >= 0))
      parent = tree.inner[pick - 1];
    tree.child_legs.push_back(
        {parent, c.site == parent ? kSameSite : random_path(space, random, c.site, parent)});
  }
  return space.normalise(std::move(tree));
}

// Another tree next to this one: one leg moved, or aggregators changed with legs re-chosen by default.
Tree neighbour(const Space& space, const Tree& tree, Random& random) {
  if (random.chance(0.3)) return random_tree(space, random);
  Tree out = tree;
  const int c = random.below(space.child_count());
  const int site = space.problem().children[c].site;
  int parent = out.root;
  if (!out.inner.empty() && random.chance(0.5))
    parent = out.inner[random.below(static_cast<int>(out.inner.size()))];
  if (random.chance(0.3) && !out.inner.empty()) {
    const int i = random.below(static_cast<int>(out.inner.size()));
    out.inner_legs[i].path = random_path(space, random, out.inner[i], out.root);
  } else if (site != parent) {
    if (const int path = random_path(space, random, site, parent); path >= 0)
      out.child_legs[c] = {parent, path};
  }
  return space.normalise(std::move(out));
}

}  // namespace

Draft finish(const Space& space, std::vector<Column> columns) {
  RateSolver solver;
  for (;;) {
    Draft draft;
    draft.allocation = solver.solve(space, pointers(columns));
    Allocation& a = draft.allocation;
    int used = 0, smallest = -1;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (a.share[i] <= 1e-6) continue;
      ++used;
      if (smallest < 0 || a.share[i] < a.share[smallest]) smallest = static_cast<int>(i);
    }
    const bool fits = used <= space.problem().job.max_stripes;
    if (used == static_cast<int>(columns.size()) && fits) {
      draft.columns = std::move(columns);
      return draft;
    }
    if (used == 0) return draft;  // nothing flows: time_s is infinite
    std::vector<Column> kept;
    for (size_t i = 0; i < columns.size(); ++i)
      if (a.share[i] > 1e-6 && (fits || static_cast<int>(i) != smallest))
        kept.push_back(std::move(columns[i]));
    columns = std::move(kept);
  }
}

Draft shortest(const Space& space) {
  return finish(space, {space.column(default_tree(space, nearest_root(space)))});
}

Draft ecmp(const Space& space) {
  const int root = nearest_root(space);
  return finish(
      space, {space.column(flat_tree(space, root, [&](int c, int) {
        const int site = space.problem().children[c].site;
        std::vector<int> equal;
        size_t fewest = ~size_t{0};
        for (int p = space.paths().first(site, root); p < space.paths().last(site, root); ++p) {
          const size_t hops = space.paths().links(p).size();
          if (!space.alive(p) || hops > fewest) continue;
          if (hops < fewest) equal.clear();
          fewest = hops;
          equal.push_back(p);
        }
        return equal[Random(static_cast<uint64_t>(c) * 977 + root).below(static_cast<int>(equal.size()))];
      }))});
}

Draft widest(const Space& space) {
  const auto pick = [&](int c, int root) {
    return widest_path(space, space.problem().children[c].site, root);
  };
  int best = -1;
  double best_width = -1;
  for (int root : space.roots()) {
    double narrowest = kUnlimited;
    for (const Leg& leg : flat_tree(space, root, pick).child_legs)
      if (leg.path != kSameSite) narrowest = std::min(narrowest, width(space, leg.path));
    if (narrowest > best_width) {
      best_width = narrowest;
      best = root;
    }
  }
  return finish(space, {space.column(flat_tree(space, best, pick))});
}

Draft greedy(const Space& space) {
  Column best;
  double best_time = kUnlimited;
  std::vector<double> width_of(space.paths().path_count());
  for (int p = 0; p < space.paths().path_count(); ++p) width_of[p] = width(space, p);
  Column column;
  for (int root : space.roots()) {
    space.fill(greedy_tree(space, root, width_of), column);
    if (best.tree.root >= 0 && !(column.alone_s < best_time)) continue;
    best_time = column.alone_s;
    std::swap(best, column);
  }
  return finish(space, {std::move(best)});
}

Draft spread(const Space& space) {
  Draft draft;
  for (int root : space.roots()) {
    const bool has_child = std::any_of(space.problem().children.begin(), space.problem().children.end(),
                                       [&](const Child& c) { return c.site == root; });
    if (has_child && static_cast<int>(draft.columns.size()) < space.problem().job.max_stripes)
      draft.columns.push_back(space.column(default_tree(space, root)));
  }
  if (draft.columns.empty()) return shortest(space);
  const double n = static_cast<double>(draft.columns.size());
  double rate = kUnlimited;  // of each stripe
  Allocation& a = draft.allocation;
  a.load.assign(space.row_count(), 0);
  a.pressure.assign(space.row_count(), 0);
  for (const Column& c : draft.columns)
    for (int i = 0; i < space.row_count(); ++i) a.load[i] += c.takes[i];
  for (int i = 0; i < space.row_count(); ++i)
    if (a.load[i] > 0) rate = std::min(rate, space.capacity()[i] / a.load[i]);
  for (int i = 0; i < space.row_count(); ++i)
    a.load[i] = a.load[i] > 0 ? a.load[i] * rate / space.capacity()[i] : 0;
  a.rate_bps.assign(draft.columns.size(), rate);
  a.share.assign(draft.columns.size(), 1 / n);
  double latency = 0;
  for (const Column& c : draft.columns) latency = std::max(latency, c.latency_s);
  a.time_s = latency + space.bits() / n / rate;
  return draft;
}

Draft columns(const Space& space) {
  Oracle oracle(space);
  RateSolver solver;
  std::vector<Column> list;
  std::vector<double> price(space.link_count());
  std::vector<Hubs> best;
  for (int e = 0; e < space.link_count(); ++e) price[e] = 1e9 / std::max(1.0, space.capacity()[e]);
  for (int i = 0; i < space.problem().job.max_stripes; ++i) {
    oracle.set_prices(price.data());
    oracle.cheapest(1, 1, best);
    if (best.empty()) break;
    list.push_back(space.column(oracle.tree(best[0])));
    const Allocation& a = solver.solve(space, pointers(list));
    if (!std::isfinite(a.time_s)) break;
    for (int e = 0; e < space.link_count(); ++e)
      price[e] = 1e9 * (a.pressure[e] + 0.02 / space.link_count()) / std::max(1.0, space.capacity()[e]);
  }
  return finish(space, std::move(list));
}

Draft local_search(const Space& space, int tries, uint64_t seed) {
  Random random(seed);
  Draft best = greedy(space);
  if (Draft other = finish(space, spread(space).columns); other.time_s() < best.time_s())
    best = std::move(other);
  RateSolver solver;
  for (int i = 0; i < tries && !best.columns.empty(); ++i) {
    std::vector<Column> next = best.columns;
    const int at = random.below(static_cast<int>(next.size()));
    Column changed = space.column(neighbour(space, next[at].tree, random));
    if (static_cast<int>(next.size()) < space.problem().job.max_stripes)
      next.push_back(std::move(changed));  // rates decide which of old and new carry
    else
      next[at] = std::move(changed);
    if (solver.solve(space, pointers(next)).time_s < best.time_s() * (1 - 1e-6))
      best = finish(space, std::move(next));
  }
  return best;
}

Draft random_plan(const Space& space, uint64_t seed) {
  Random random(seed);
  std::vector<Column> list;
  for (int i = 1 + random.below(space.problem().job.max_stripes); i > 0; --i)
    list.push_back(space.column(random_tree(space, random)));
  return finish(space, std::move(list));
}

const std::vector<Baseline>& guard_baselines() {
  static const std::vector<Baseline> list = {
      {"shortest", shortest}, {"ecmp", ecmp},
      {"widest", widest},     {"greedy", greedy},
      {"spread", spread},     {"local_search", [](const Space& s) { return local_search(s); }},
      {"columns", columns},
  };
  return list;
}

}  // namespace l3dml::drl
