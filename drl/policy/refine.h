// One routing decision in the making: a plan that starts from the best simple trees and is refined step by
// step. Each step prices the links by what they limit now, draws the cheapest trees under present and
// remembered prices as candidates, and adds the one that is chosen; rates and shares of all trees are then
// solved anew. So roots, inner aggregators, paths and shares are decided together, and any network fits: the
// state is per link, the choice per candidate.
//
// Who chooses is somebody else: the policy (network.h), PPO's exploration, a rule. One thread, owns its
// buffers; the Space must outlive it. Copies are independent (used to look ahead when training).
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "drl/policy/baselines.h"
#include "drl/policy/pricing_tree.h"

namespace l3dml::drl {

inline constexpr int kMaxCandidates = 12;
inline constexpr int kLinkFeatures = 10;
inline constexpr int kCandidateFeatures = 14;
inline constexpr int kGlobalFeatures = 8;

// What the chooser sees; all of it without units, so that size of network, rates and tensor do not matter.
struct Observation {
  int links = 0;
  int candidates = 0;
  std::vector<float> link;  // links x kLinkFeatures
  std::vector<float>
      takes;  // candidates x links: part of the tree's uses that lies on the link, rows sum to 1
  std::vector<float> cost;  // candidates x links: what the tree pays there at present prices, in iterations
  std::vector<float> candidate;  // candidates x kCandidateFeatures
  std::array<float, kGlobalFeatures> global{};
};

class Refine {
 public:
  // `steps` choices at most. The plan is usable from the start.
  Refine(const Space& space, int steps);
  Refine(const Refine& other);
  Refine& operator=(const Refine&) = delete;

  // Candidates that shorten the iteration by linear reckoning; none: nothing more to gain, or no steps left.
  const Observation& observe();
  void choose(int candidate);
  int cheapest_candidate() const;  // rule of column generation: largest reduced cost

  double time_s() const { return allocation_.time_s; }  // with as many stripes as there are trees
  int steps_left() const { return steps_left_; }
  Draft draft() const;  // within max_stripes

 private:
  struct Candidate {
    Column column;
    int blend = 0, rank = 0;
    double cost_s = 0, smooth_cost_s = 0;  // of its takes at the prices
  };
  void start();
  void solve();
  void gather(const std::vector<double>& pressure, int count, int blend);
  void price(Candidate& candidate) const;
  void describe();
  void describe_links();
  void describe_candidate(int candidate);

  const Space& space_;
  std::shared_ptr<PricingTree> pricing_;
  RateSolver solver_;
  int steps_left_, steps_;
  double last_gain_ = 0, first_s_ = 0;
  // Used ones first; those behind keep their memory for the next.
  std::vector<Column> columns_;
  std::vector<double> norm_;  // of each column, see describe_candidate
  int column_count_ = 0;
  std::vector<Candidate> candidates_;
  int candidate_count_ = 0;
  std::vector<Tree> refused_;  // in this step, for want of gain: whatever prices found them
  Allocation allocation_;
  std::vector<double> smooth_;  // per row: running mean of pressure
  std::vector<double> room_;    // per row: capacity, at least 1
  std::vector<float> size_;     // per link: feature of its capacity
  Observation observation_;
  std::vector<double> price_;
  std::vector<const Column*> pointers_;
};

}  // namespace l3dml::drl
