// What the routing policies' flow model (drl/) says an iteration takes, beside what it takes when the very
// pipeline and worker code do it under the virtual clock: random networks, jobs and plans, good ones and bad.
//
// Rates are those of the model divided by a hundred, so that a case is a few seconds of work; a link has the
// rate that the model may fill by 95 %, as the controller leaves headroom. Both directions of a cable are
// alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/policy/policy.h"
#include "tools/report/report.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

struct PredictionCase {
  std::string network, policy;  // who made the plan
  drl::Problem problem;
  drl::Plan plan;
};
absl::StatusOr<PredictionCase> draw_prediction_case(uint64_t seed);

constexpr int64_t kIterationStartNs = base::kSecond;  // when all begin to compute
Scenario scenario_of(const PredictionCase& drawn);

struct Prediction {
  uint64_t seed = 0;
  std::string network, policy;
  double predicted_s = 0, simulated_s = 0;
  double error() const { return predicted_s / simulated_s - 1; }
};
// The first violation ends it.
absl::StatusOr<Prediction> predict_and_simulate(uint64_t seed);

double rank_correlation(const std::vector<Prediction>& all);  // Spearman's

struct PredictionOptions {
  uint64_t first_seed = 1;
  int cases = 200;
  unsigned threads = 1;
  bool verbose = false;
  std::string svg;  // file of the scatter; empty: none
};
absl::StatusOr<std::vector<report::Row>> measure_prediction(const PredictionOptions& options);

}  // namespace l3dml::sim
