// The aggregation tree of one epoch of one job, and how it was drawn.
#pragma once

#include <cstdint>
#include <vector>

namespace l3dml::sim {

struct TreeChild {
  bool member = true;
  uint32_t index = 0;  // member, or aggregator (index into Tree::aggregators)
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

}  // namespace l3dml::sim
