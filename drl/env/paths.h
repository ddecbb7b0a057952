// Candidate paths between sites: k per ordered pair, shortest by delay first, each next one pushed away from
// the links of those before (link-penalty method), so that k paths are alternatives and not variations.
// Loopless. Immutable after build(); many problems of one network share a table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drl/env/problem.h"

namespace l3dml::drl {

class PathTable {
 public:
  // Links that fail `usable` (by index; empty = all usable) are left out.
  static PathTable build(const Problem& problem, int k, const std::vector<bool>& usable = {});

  // Ids of the candidates from one site to another; empty if none (or from == to).
  int first(int from, int to) const { return begin_[from * sites_ + to]; }
  int last(int from, int to) const { return begin_[from * sites_ + to + 1]; }

  std::span<const int> links(int path) const {
    return {links_.data() + link_begin_[path],
            static_cast<size_t>(link_begin_[path + 1] - link_begin_[path])};
  }
  double delay_s(int path) const { return delay_s_[path]; }

  // Sums over each path, in the order of its links, of kSums numbers per link (per_link[link * kSums + i]).
  // Paths are taken by their number of links: loops of one length, whose additions overlap.
  static constexpr int kSums = 4;
  void sums(const double* per_link, double* per_path) const;

  int path_count() const { return static_cast<int>(delay_s_.size()); }
  int k() const { return k_; }

 private:
  int sites_ = 0;
  int k_ = 0;
  std::vector<int> begin_;       // per ordered pair, plus one
  std::vector<int> link_begin_;  // per path, plus one
  std::vector<int> links_;
  std::vector<double> delay_s_;
  struct Group {  // paths of as many links
    int hops;
    std::vector<int> paths, links;  // link h of paths[i] is links[i * hops + h]
  };
  std::vector<Group> groups_;
};

}  // namespace l3dml::drl
