// Many scenarios, on as many threads as wanted: each seed is a world of its own, so the result does not
// depend on how they are dealt out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/sim/coverage.h"
#include "tools/sim/world.h"

namespace l3dml::sim {

struct BatchOptions {
  uint64_t first_seed = 1;
  uint64_t runs = 100;
  unsigned threads = 1;
  bool wide = false;                                                  // see generate()
  bool keep_going = false;                                            // after a violation
  bool verbose = false;                                               // a line per scenario
  std::function<void(uint64_t seed, const Violation&)> on_violation;  // at once, one at a time
  std::function<void(uint64_t scenarios)> on_progress;                // after each scenario, one at a time
};

struct BatchResult {
  uint64_t scenarios = 0;
  std::vector<std::pair<uint64_t, Violation>> violations;  // by seed
  uint64_t packets = 0, events = 0, collectives = 0, chunks = 0, repeats = 0, retransmitted = 0, epochs = 0;
  double cpu_s = 0;  // summed over threads
  Coverage coverage;
};

double thread_cpu_s();  // of the calling thread

Outcome run_scenario(const Scenario& scenario, PacketTrace* trace);
BatchResult run_batch(const BatchOptions& options);

}  // namespace l3dml::sim
