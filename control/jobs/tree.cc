#include "control/jobs/tree.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace l3dml::control {
namespace {

class Builder {
 public:
  Builder(const Topology& topology, const PathTree& paths, const std::vector<HostId>& members,
          const TreeOptions& options)
      : topology_(topology),
        paths_(paths),
        options_(options),
        workers_(topology.sites().size()),
        below_(topology.sites().size()) {
    std::vector<bool> linked(topology.sites().size(), false);
    for (const HostId h : members) {
      workers_[topology.hosts()[h].site].push_back(h);
      for (SiteId at = topology.hosts()[h].site; at != paths.to && !linked[at]; at = paths.next[at].site) {
        linked[at] = true;
        below_[paths.next[at].site].push_back(at);
      }
    }
    for (auto& sites : below_) std::sort(sites.begin(), sites.end());
  }

  // What stands at `site` for everything at and below it: itself as an aggregator, or its children as they
  // are.
  absl::StatusOr<std::vector<Child>> collect(SiteId site) {
    std::vector<Child> children;
    for (const HostId h : workers_[site]) children.push_back({NodeKind::worker, h});
    for (const SiteId lower : below_[site]) {
      auto part = collect(lower);
      if (!part.ok()) return part.status();
      children.insert(children.end(), part->begin(), part->end());
    }
    const bool root = site == paths_.to;
    const bool sums = root || (options_.inner && topology_.sites()[site].aggregates &&
                               static_cast<int>(children.size()) >= options_.inner_min_children);
    if (!sums) return children;
    if (children.size() > kMaxChildren)
      return absl::ResourceExhaustedError(
          absl::StrCat("site ", topology_.sites()[site].name, " would have ", children.size(),
                       " children, an aggregator has at most 31: let switches below it aggregate, or choose "
                       "another root"));
    aggregators_.push_back({site, -1, -1, std::move(children)});
    return std::vector<Child>{{NodeKind::aggregator, static_cast<int>(aggregators_.size()) - 1}};
  }

  // Children were finished before parents; the tree has the root first.
  Tree finish() {
    Tree tree;
    const int n = static_cast<int>(aggregators_.size());
    tree.aggregators.assign(aggregators_.rbegin(), aggregators_.rend());
    for (int i = 0; i < n; ++i)
      for (size_t c = 0; c < tree.aggregators[i].children.size(); ++c) {
        Child& child = tree.aggregators[i].children[c];
        if (child.kind != NodeKind::aggregator) continue;
        child.index = n - 1 - child.index;
        tree.aggregators[child.index].parent = i;
        tree.aggregators[child.index].child_index = static_cast<int>(c);
      }
    return tree;
  }

 private:
  const Topology& topology_;
  const PathTree& paths_;
  const TreeOptions& options_;
  std::vector<std::vector<HostId>> workers_;  // by site
  std::vector<std::vector<SiteId>> below_;    // by site
  std::vector<Aggregator> aggregators_;
};

}  // namespace

absl::StatusOr<Tree> build_tree(const Topology& topology, const std::vector<HostId>& members, SiteId root,
                                const LinkLength& length, const TreeOptions& options) {
  if (members.empty()) return absl::InvalidArgumentError("a job needs at least one worker");
  if (!topology.sites()[root].aggregates)
    return absl::FailedPreconditionError(
        absl::StrCat("site ", topology.sites()[root].name, " does not aggregate, it cannot be a root"));
  const PathTree paths = paths_to(topology, root, length);
  for (const HostId h : members)
    if (!paths.reaches(topology.hosts()[h].site))
      return absl::UnavailableError(absl::StrCat("worker ", topology.hosts()[h].name, " has no path to root ",
                                                 topology.sites()[root].name));
  Builder builder(topology, paths, members, options);
  auto top = builder.collect(root);
  if (!top.ok()) return top.status();
  return builder.finish();
}

std::vector<Segment> segments_of(const Topology& topology, const Tree& tree, const LinkLength& length) {
  std::vector<Segment> segments;
  PathCache paths(topology, length);
  for (size_t a = 0; a < tree.aggregators.size(); ++a) {
    const Aggregator& aggregator = tree.aggregators[a];
    const PathTree& to = paths.to(aggregator.site);
    for (size_t c = 0; c < aggregator.children.size(); ++c) {
      const Child& child = aggregator.children[c];
      const SiteId from = child.kind == NodeKind::worker ? topology.hosts()[child.index].site
                                                         : tree.aggregators[child.index].site;
      segments.push_back(
          {static_cast<int>(a), static_cast<int>(c), from, aggregator.site, path_steps(to, from)});
    }
  }
  return segments;
}

}  // namespace l3dml::control
