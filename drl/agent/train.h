// Training of a policy: problems are drawn, an expert (looking ahead with the rule of column generation)
// gives lessons for a warm start, PPO goes on from there; the best weights by validation are kept. A function
// of the options, whatever the threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drl/agent/learner.h"
#include "drl/env/scenario.h"
#include "drl/policy/model.h"

namespace l3dml::drl {

struct PoolOptions {
  std::vector<std::string> topologies;  // bundled names or files
  int min_sites = 0, max_sites = 0;     // and random WANs of that size, half of the pool; 0 = none
  int count = 1000;                     // problems
  std::optional<ScenarioKind> kind;     // none: half of each
};

// Drawn in parallel; problem i is a function of (options, seed, i).
using Pool = std::vector<std::shared_ptr<const Space>>;
absl::StatusOr<Pool> draw_pool(const PoolOptions& options, uint64_t seed);

struct Case {  // for validation
  std::shared_ptr<const Space> space;
  double reference_s;  // the optimum, or a bound below it
};

struct TrainOptions {
  PoolOptions problems;
  uint64_t seed = 1;
  int hidden = 32;
  int steps = 12;      // of refinement
  int lessons = 6000;  // 0: no warm start
  int imitation_epochs = 16;
  int updates = 30;  // of PPO
  int steps_per_update = 2048;
  int environments = 64;
  PpoOptions ppo;
  double target_mean = 0, target_p95 = 0;  // stop when validation reaches both; 0 = do all updates
  std::string directory;                   // progress.csv, checkpoint, best.txt; empty: nothing is written
  bool resume = false;                     // from the checkpoint in `directory`
};

struct TrainRow {     // one line of progress.csv
  std::string phase;  // "lessons", "imitation" or "ppo"
  int update = 0;
  double seconds = 0;  // since the start, resumed runs included
  long decisions = 0;  // choices made in environments
  double reward = 0;   // mean sum of an episode (ppo), cross-entropy (imitation)
  PpoStats ppo;
  double mean = 0, p95 = 0;  // validation: ratio to the reference
};

struct Trained {
  std::vector<float> weights;  // best by validation
  double mean = 0, p95 = 0;
  float strangeness = 0;  // 99.9th percentile over the pool
  std::vector<TrainRow> rows;
};

absl::StatusOr<Trained> train(const TrainOptions& options, const std::vector<Case>& validation,
                              const std::function<void(const TrainRow&)>& progress);

// Ratios to the reference of the raw policy, ascending.
std::vector<double> ratios(const Network& network, int steps, const std::vector<Case>& cases);

}  // namespace l3dml::drl
