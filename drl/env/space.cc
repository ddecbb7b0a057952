#include "drl/env/space.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace l3dml::drl {
namespace {

constexpr double kDead_bps = 1e3;  // below this a link counts as failed

template <typename Sorted>
bool contains(const Sorted& sorted, int value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

absl::StatusOr<Space> Space::create(Problem problem, int k, std::shared_ptr<const PathTable> paths) {
  if (absl::Status s = validate(problem); !s.ok()) return s;
  if (k < 1 || k > 16) return absl::InvalidArgumentError("k must lie in 1..16");
  Space space;
  space.problem_ = std::move(problem);
  const Problem& p = space.problem_;
  const int n = space.site_count();
  const int links = space.link_count();

  std::vector<int> at(static_cast<size_t>(n) * n, -1);
  for (int e = 0; e < links; ++e) at[p.links[e].from * n + p.links[e].to] = e;
  space.reverse_.resize(links);
  std::vector<bool> usable(links);
  bool all_usable = true;
  for (int e = 0; e < links; ++e) {
    space.reverse_[e] = at[p.links[e].to * n + p.links[e].from];
    usable[e] =
        p.links[e].available_bps >= kDead_bps && p.links[space.reverse_[e]].available_bps >= kDead_bps;
    all_usable = all_usable && usable[e];
  }

  const auto mark_alive = [&] {
    space.alive_.assign(space.paths_->path_count(), 1);
    for (int i = 0; i < space.paths_->path_count() && !all_usable; ++i)
      for (int e : space.paths_->links(i))
        if (!usable[e]) space.alive_[i] = 0;
  };
  space.paths_ = paths ? std::move(paths) : std::make_shared<PathTable>(PathTable::build(p, k));
  mark_alive();
  bool starved = false;
  for (int i = 0; i < n && !starved && !all_usable; ++i)
    for (int j = 0; j < n && !starved; ++j)
      starved = space.paths_->first(i, j) != space.paths_->last(i, j) && space.default_path(i, j) < 0;
  if (starved) {
    space.paths_ = std::make_shared<PathTable>(PathTable::build(p, k, usable));
    mark_alive();
  }

  std::string cut_off;
  for (int r = 0; r < n; ++r) {
    if (!p.sites[r].aggregates) continue;
    bool reached = true;
    for (const Child& c : p.children) {
      if (c.site == r || space.default_path(c.site, r) >= 0) continue;
      reached = false;
      if (cut_off.empty()) cut_off = absl::StrCat(p.sites[c.site].name, " to ", p.sites[r].name);
    }
    if (reached) space.roots_.push_back(r);
  }
  if (space.roots_.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("no aggregator can be reached by every child: no path from ", cut_off));

  double access = kUnlimited;
  for (const Child& c : p.children) access = std::min(access, c.access_bps);
  const double efficiency = wire_efficiency(p.job);
  for (const Link& l : p.links) space.capacity_.push_back(l.available_bps * efficiency);
  space.capacity_.push_back(std::isinf(access) ? 1e15 : access * efficiency);
  space.slot_row_.assign(n, -1);
  for (int i = 0; i < n; ++i) {
    if (!p.sites[i].aggregates || std::isinf(p.sites[i].slots)) continue;
    space.slot_row_[i] = space.row_count();
    space.capacity_.push_back(p.sites[i].slots);
  }
  return space;
}

int Space::default_path(int from, int to) const {
  for (int i = paths_->first(from, to); i < paths_->last(from, to); ++i)
    if (alive_[i]) return i;
  return -1;
}

Tree Space::normalise(Tree tree) const {
  Tree out;
  out.root = tree.root;
  for (size_t c = 0; c < problem_.children.size(); ++c) {
    const int site = problem_.children[c].site;
    if (site == tree.root || std::find(tree.inner.begin(), tree.inner.end(), site) != tree.inner.end())
      tree.child_legs[c] = {site, kSameSite};
  }
  for (size_t i = 0; i < tree.inner.size(); ++i) {
    const bool used = std::any_of(tree.child_legs.begin(), tree.child_legs.end(),
                                  [&](const Leg& leg) { return leg.parent == tree.inner[i]; });
    if (!used || tree.inner[i] == tree.root) continue;
    int* const place = std::lower_bound(out.inner.begin(), out.inner.end(), tree.inner[i]);
    out.inner_legs.insert(out.inner_legs.begin() + (place - out.inner.begin()), tree.inner_legs[i]);
    out.inner.insert(place, tree.inner[i]);
  }
  out.child_legs = tree.child_legs;
  return out;
}

bool Space::complete(const Tree& tree) const {
  const auto leg_ok = [&](int from, const Leg& leg) {
    if (leg.path == kSameSite) return from == leg.parent;
    return leg.path >= paths_->first(from, leg.parent) && leg.path < paths_->last(from, leg.parent) &&
           alive_[leg.path];
  };
  if (!std::binary_search(roots_.begin(), roots_.end(), tree.root)) return false;
  if (tree.inner.size() > kMaxInner || tree.inner.size() != tree.inner_legs.size()) return false;
  if (tree.child_legs.size() != problem_.children.size()) return false;
  for (size_t i = 0; i < tree.inner.size(); ++i) {
    if (!problem_.sites[tree.inner[i]].aggregates || tree.inner_legs[i].parent != tree.root) return false;
    if (tree.inner[i] == tree.root || !leg_ok(tree.inner[i], tree.inner_legs[i])) return false;
  }
  for (size_t c = 0; c < tree.child_legs.size(); ++c) {
    const Leg& leg = tree.child_legs[c];
    if (leg.parent != tree.root && !contains(tree.inner, leg.parent)) return false;
    if (!leg_ok(problem_.children[c].site, leg)) return false;
  }
  return true;
}

void delay_of_child(const Space& space, const Tree& tree, int c, TreeDelays& d) {
  const Leg& leg = tree.child_legs[c];
  const Child& child = space.problem().children[c];
  double up = leg.path == kSameSite ? 0 : space.paths().delay_s(leg.path);
  double down = up;
  if (leg.path != kSameSite && !child.summed_at_site)
    down = space.paths().delay_s(space.default_path(child.site, leg.parent));
  for (size_t i = 0; i < tree.inner.size(); ++i)
    if (tree.inner[i] == leg.parent) {
      up += space.paths().delay_s(tree.inner_legs[i].path);
      down += space.paths().delay_s(tree.inner_legs[i].path);
    }
  d.up_s[c] = up;
  d.down_s[c] = down;
}

TreeDelays tree_delays(const Space& space, const Tree& tree) {
  TreeDelays d;
  d.up_s.resize(space.child_count());
  d.down_s.resize(space.child_count());
  for (int c = 0; c < space.child_count(); ++c) delay_of_child(space, tree, c, d);
  return d;
}

Column Space::column(const Tree& tree) const {
  Column column;
  fill(tree, column);
  return column;
}

void Space::fill(const Tree& tree, Column& column) const {
  column.takes.assign(row_count(), 0);
  double* const takes = column.takes.data();
  const auto take_up = [&](int path) {
    for (int e : paths_->links(path)) takes[e] += 1;
  };
  const auto take_down = [&](int path) {
    for (int e : paths_->links(path)) takes[reverse_[e]] += 1;
  };
  for (const Leg& leg : tree.inner_legs) {
    take_up(leg.path);
    take_down(leg.path);
  }
  for (size_t c = 0; c < tree.child_legs.size(); ++c) {
    const Leg& leg = tree.child_legs[c];
    if (leg.path == kSameSite) continue;
    take_up(leg.path);
    const Child& child = problem_.children[c];
    take_down(child.summed_at_site ? leg.path : default_path(child.site, leg.parent));
  }
  takes[access_row()] = 1;

  const TreeDelays d = tree_delays(*this, tree);
  double arrival = 0, up = 0, down = 0;
  for (size_t c = 0; c < tree.child_legs.size(); ++c) {
    arrival = std::max(arrival, problem_.children[c].ready_s + d.up_s[c]);
    up = std::max(up, d.up_s[c]);
    down = std::max(down, d.down_s[c]);
  }
  column.latency_s = arrival + down;
  column.round_trip_s = up + down;
  const double slots_per_bps = 4 * column.round_trip_s / (problem_.job.payload_bytes * 8.0);
  const auto take_slots = [&](int site) {
    if (slot_row_[site] >= 0) takes[slot_row_[site]] = slots_per_bps;
  };
  take_slots(tree.root);
  for (int site : tree.inner) take_slots(site);
  for (const Child& c : problem_.children)
    if (c.summed_at_site) take_slots(c.site);
  double rate = kUnlimited;
  for (int i = 0; i < row_count(); ++i) {
    const double possible = capacity_[i] / takes[i];  // no number where neither is anything
    rate = (takes[i] > 0) & (possible < rate) ? possible : rate;
  }
  column.alone_s = column.latency_s + bits() / rate;
  column.tree = tree;
}

}  // namespace l3dml::drl
