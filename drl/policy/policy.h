// What the controller links: routing decisions for a job on a network. Torch-free; every method may be called
// from any thread (reload() swaps the model set under running calls, which end with the set they began with).
//
//   decide()   the policy's plan, guarded: the best of it and all baselines by the model
//   revise()   the same while a plan runs; says to keep it unless the new one is clearly faster (hysteresis)
//   predict()  what a plan would take now: its trees and shares as they are, its rates chosen anew
//   reload()   reads the model directory again; on a bad file the running set stays
//
// Errors are one line: InvalidArgument (not a problem: see problem.h), FailedPrecondition (children that
// cannot reach an aggregator). A job that no model was trained for, a broken model or a strange observation
// is no error: the best baseline decides, and `why` says so. A plan speaks in indices of Problem::sites,
// links and children.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/env/problem.h"

namespace l3dml::drl {

struct Plan {
  struct Leg {
    int from = -1;           // site
    int parent = -1;         // site of the aggregator that it sends to
    std::vector<int> links;  // upwards, in order; empty: the same site
    bool operator==(const Leg&) const = default;
  };
  struct Stripe {
    int root = -1;                // site
    std::vector<Leg> inner_legs;  // one per inner aggregator
    std::vector<Leg> child_legs;  // beside Problem::children
    double share = 0;             // of the tensor; sums to 1 over stripes
    double rate_bps = 0;          // payload; every child of the stripe sends at it
    double round_trip_s = 0;      // what the window must cover
    std::vector<double>
        arrival_s;  // per child: when its first gradient reaches the root, from the start of computing
  };
  std::vector<Stripe> stripes;  // largest share first
  double time_s = 0;            // predicted iteration
};

struct Decision {
  Plan plan;
  std::string source;     // name of the model or the baseline that made the plan
  std::string why;        // what the gate said, and the guard
  double policy_s = 0;    // the raw policy's time; infinite if no model decided
  double baseline_s = 0;  // the best baseline's
  std::string baseline;   // its name
  bool keep = false;      // revise(): stay with the running plan, which is `plan`
};

struct PolicyOptions {
  std::string model_directory;  // beside the compiled-in models; empty: those alone
  int paths = 4;                // candidates per pair of sites
  double hysteresis = 0.1;      // a running plan is left for one that is shorter by more than this part
  std::string rule;             // decides instead of the models: a baseline's name ("shortest", "greedy", ...)
};

struct ModelSummary {
  std::string name, hash;
  double mean = 0, p95 = 0;  // ratio to the optimum in validation
};

class Policy {
 public:
  // NotFound if the directory cannot be read. Files in it that are refused are left out; see refused().
  static absl::StatusOr<std::unique_ptr<Policy>> create(PolicyOptions options = {});
  virtual ~Policy() = default;

  virtual absl::StatusOr<Decision> decide(const Problem& problem) const = 0;
  virtual absl::StatusOr<Decision> revise(const Problem& problem, const Plan& running) const = 0;
  virtual absl::StatusOr<double> predict(const Problem& problem, const Plan& plan) const = 0;
  virtual absl::Status reload() = 0;
  virtual std::vector<ModelSummary> models() const = 0;
  virtual std::vector<std::string> refused() const = 0;  // files, with reasons
};

}  // namespace l3dml::drl
