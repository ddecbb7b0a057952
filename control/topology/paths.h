// Shortest paths over the links that are up, deterministic: equal lengths are told apart by fewer steps, then
// by the lower site, so that every switch's next hops together form trees without loops.
#pragma once

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "control/topology/topology.h"

namespace l3dml::control {

// Length of a link, positive.
using LinkLength = std::function<double(const Link&)>;
double by_delay(const Link& link);  // one-way delay in s plus a microsecond, so that steps count among equals

// Everything about getting *to* one site.
struct PathTree {
  SiteId to = -1;
  std::vector<double> lengths;  // by site, of the path to `to`; infinity: none
  std::vector<Step> next;  // by site: first step towards `to`; link -1 at `to` itself and where there is none

  bool reaches(SiteId from) const { return lengths[from] < std::numeric_limits<double>::infinity(); }
};

PathTree paths_to(const Topology& topology, SiteId to, const LinkLength& length = by_delay);

// Path trees computed once per destination; for one version of a topology, which it must not outlive.
class PathCache {
 public:
  explicit PathCache(const Topology& topology, LinkLength length = by_delay)
      : topology_(topology), length_(std::move(length)), trees_(topology.sites().size()) {}
  const PathTree& to(SiteId site) {
    if (trees_[site].to < 0) trees_[site] = paths_to(topology_, site, length_);
    return trees_[site];
  }

 private:
  const Topology& topology_;
  LinkLength length_;
  std::vector<PathTree> trees_;  // by site
};

// The links from `from` to `tree.to`, in order; empty also where there is no path.
std::vector<Step> path_steps(const PathTree& tree, SiteId from);

struct PathFigures {
  double delay_s = 0;    // one way
  double rate_bps = 0;   // of the narrowest link; 0: not limited
  double delivered = 1;  // share of packets that arrive
};
PathFigures path_figures(const Topology& topology, const std::vector<Step>& steps);

}  // namespace l3dml::control
