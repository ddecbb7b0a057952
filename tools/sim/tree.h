// The aggregation tree of one epoch of one job, and how it was drawn.
#pragma once

#include <cstdint>
#include <vector>

namespace l3dml::sim {

struct TreeChild {
  bool member = true;
  uint32_t index = 0;         // member, or aggregator (index into Tree::aggregators)
  std::vector<uint32_t> way;  // cables from its device to this one, in order; none: the network's own way
};

struct TreeAggregator {
  uint32_t device = 0;
  int parent = -1;    // index into Tree::aggregators; -1: the root
  uint8_t child = 0;  // its index at the parent
  std::vector<TreeChild> children;
};

struct Place {  // of a member
  uint32_t aggregator = 0;
  uint8_t child = 0;
};

struct Tree {
  std::vector<TreeAggregator> aggregators;  // [0] is the root; parents before children
  std::vector<Place> places;                // by member; only those in the tree are meaningful
};

inline uint32_t depth_of(const Tree& tree) {  // levels of aggregators
  uint32_t deepest = 0;
  for (const TreeAggregator& leaf : tree.aggregators) {
    uint32_t depth = 1;
    for (int at = leaf.parent; at >= 0; at = tree.aggregators[static_cast<size_t>(at)].parent) ++depth;
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest;
}

}  // namespace l3dml::sim
