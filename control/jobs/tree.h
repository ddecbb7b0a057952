// The aggregation tree of one stripe: which switches sum, who is whose child.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/topology/paths.h"
#include "control/topology/topology.h"

namespace l3dml::control {

constexpr int kMaxChildren = 31;

enum class NodeKind : uint8_t { worker, aggregator };

struct Child {
  NodeKind kind = NodeKind::worker;
  int index = 0;  // worker: HostId; aggregator: index into Tree::aggregators
  friend bool operator==(const Child&, const Child&) = default;
};

struct Aggregator {
  SiteId site = -1;
  int parent = -1;       // index into Tree::aggregators; -1: the root
  int child_index = -1;  // which child of the parent it is
  std::vector<Child> children;
};

struct Tree {
  std::vector<Aggregator> aggregators;  // [0] is the root; parents before children
};

struct TreeOptions {
  bool inner = true;           // false: only the root sums
  int inner_min_children = 2;  // a switch with fewer children only forwards
};

// Shortest paths of `members` to `root` with an aggregator wherever at least two children meet.
// Errors: root does not aggregate, a member has no path, more than 31 children at one switch.
absl::StatusOr<Tree> build_tree(const Topology& topology, const std::vector<HostId>& members, SiteId root,
                                const LinkLength& length = by_delay, const TreeOptions& options = {});

// The directed way of one segment, child to parent, over sites; empty for a worker at its own switch.
struct Segment {
  int aggregator = 0;  // the parent
  int child = 0;       // which of its children
  SiteId from = -1, to = -1;
  std::vector<Step> steps;
};
std::vector<Segment> segments_of(const Topology& topology, const Tree& tree,
                                 const LinkLength& length = by_delay);

}  // namespace l3dml::control
