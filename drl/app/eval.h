// The table: every policy on the same drawn problems, with the optimum beside it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "drl/agent/train.h"
#include "drl/policy/model.h"

namespace l3dml::drl {

struct EvalSet {
  std::string name;   // group.topology
  std::string split;  // "seen" in training, "unseen" topologies and sizes
  PoolOptions problems;
};
std::vector<EvalSet> standard_sets(int cases_per_set);

struct Timed {
  double time_s = 0;      // predicted iteration
  double decision_s = 0;  // CPU time of deciding, one thread
};

struct CaseResult {
  std::string set, split, kind;
  double lower_s = 0, upper_s = 0;  // the optimum lies between
  int sites = 0, children = 0;
  std::map<std::string, Timed> by_policy;
};

// Cases with their references, drawn from `seed`; problems whose optimum cannot be had are left out.
absl::StatusOr<std::vector<Case>> draw_cases(const PoolOptions& problems, uint64_t seed);

struct NamedModel {
  std::string name;  // group.policy
  std::shared_ptr<const Model> model;
};

// `policy`: a model by itself; `NAME guarded`: with the guard.
absl::StatusOr<std::vector<CaseResult>> evaluate(const std::vector<EvalSet>& sets,
                                                 const std::vector<NamedModel>& models, uint64_t seed,
                                                 const std::function<void(const std::string&)>& progress);

struct Summary {
  int cases = 0;
  double mean = 0, p50 = 0, p95 = 0;
  std::pair<double, double> mean_interval, p95_interval;  // 95 %, bootstrap over cases
  double against_shortest = 0, against_greedy = 0;        // reduction of the mean iteration time
  double decision_p50_s = 0, decision_p99_s = 0;
  std::vector<double> ratios;  // ascending
};
Summary summarise(const std::vector<const CaseResult*>& cases, const std::string& policy);

}  // namespace l3dml::drl
