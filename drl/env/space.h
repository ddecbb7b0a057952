// The decision space of one problem: aggregation trees over candidate paths, and what one tree takes from
// each resource.
//
// A tree has a root, up to kMaxInner inner aggregators that send to the root, and one leg per child: to which
// aggregator, over which candidate path. A child whose own site aggregates in the tree joins it there. A plan
// is a set of trees (stripes) with rates; all trees share the rows of one resource table:
//   rows [0, links)      payload bit/s of each directed link
//   row  links           the narrowest worker access
//   rows after           slots of each site: a stripe of rate f and round trip t holds rings of f*t payloads
//   on every
//                        aggregator it uses, times 4 (ring >= 2 windows, and both are powers of two)
// A tree with rate f takes column[row] * f. Built once per decision, then immutable; any thread may read it.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/env/few.h"
#include "drl/env/paths.h"
#include "drl/env/problem.h"

namespace l3dml::drl {

inline constexpr int kMaxInner = 2;
inline constexpr int kSameSite = -1;

struct Leg {
  int parent = -1;       // aggregator's site
  int path = kSameSite;  // candidate path towards it
  bool operator==(const Leg&) const = default;
};

struct Tree {
  int root = -1;
  Few<int, kMaxInner> inner;          // sites, ascending
  Few<Leg, kMaxInner> inner_legs;     // beside `inner`, parent is the root
  Few<Leg, kMaxChildren> child_legs;  // beside Problem::children
  bool operator==(const Tree&) const = default;
};

// A tree with its demands and delays.
struct Column {
  Tree tree;
  std::vector<double> takes;  // per row, per unit of rate
  double latency_s = 0;       // from the start of computing to the last worker's result of a vanishing tensor
  double round_trip_s = 0;    // what a window must cover
  double alone_s = kUnlimited;  // the iteration with this tree alone, as fast as it fits
};

class Space {
 public:
  // `paths` may be shared between problems of one network; it is rebuilt when failed links leave a pair
  // without any candidate. InvalidArgument as validate(); FailedPrecondition when no aggregator can be
  // reached by every child.
  static absl::StatusOr<Space> create(Problem problem, int k = 4,
                                      std::shared_ptr<const PathTable> paths = nullptr);

  const Problem& problem() const { return problem_; }
  const PathTable& paths() const { return *paths_; }
  std::shared_ptr<const PathTable> shared_paths() const { return paths_; }
  int site_count() const { return static_cast<int>(problem_.sites.size()); }
  int link_count() const { return static_cast<int>(problem_.links.size()); }
  int child_count() const { return static_cast<int>(problem_.children.size()); }
  int reverse(int link) const { return reverse_[link]; }
  bool alive(int path) const { return alive_[path]; }
  int default_path(int from, int to) const;                 // first candidate that is alive, -1 if none
  const std::vector<int>& roots() const { return roots_; }  // aggregators that every child can reach
  const std::vector<double>& capacity() const { return capacity_; }  // per row
  int row_count() const { return static_cast<int>(capacity_.size()); }
  int access_row() const { return link_count(); }
  int slot_row(int site) const { return slot_row_[site]; }  // -1: unlimited

  // Tensor bits of the job; time of a stripe = latency + share * bits / rate.
  double bits() const { return problem_.job.bytes * 8; }

  // Canonical form (inner sorted, unused inner aggregators dropped, children of aggregating sites joined
  // there).
  Tree normalise(Tree tree) const;
  Column column(const Tree& tree) const;              // of a normalised, complete tree
  void fill(const Tree& tree, Column& column) const;  // the same into a used one, without allocating
  bool complete(const Tree& tree) const;              // every leg present, alive, between the right sites

 private:
  Problem problem_;
  std::shared_ptr<const PathTable> paths_;
  std::vector<int> reverse_;
  std::vector<char> alive_;
  std::vector<int> roots_;
  std::vector<double> capacity_;
  std::vector<int> slot_row_;
};

// Latency of every leg sum in a tree: up[i] and down[i] of child i, path delays only.
struct TreeDelays {
  Few<double, kMaxChildren> up_s, down_s;
};
TreeDelays tree_delays(const Space& space, const Tree& tree);
void delay_of_child(const Space& space, const Tree& tree, int child, TreeDelays& delays);  // that one anew

}  // namespace l3dml::drl
