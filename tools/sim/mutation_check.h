// The mutation check: gives one deliberate fault after the other to the simulator and counts how many random
// scenarios pass before an invariant is violated. A fault that none finds is a hole in scenarios or
// invariants.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace l3dml::sim {

struct MutationOptions {
  uint64_t first_seed = 1;
  uint64_t most = 3000;  // scenarios for one fault
  unsigned threads = 1;
  std::string only;  // name of one fault; empty: all
};

struct MutationResult {
  const char* name = "";
  const char* text = "";  // what is done wrong
  bool found = false;
  uint64_t scenarios = 0;  // run, the one that found it included
  uint64_t seed = 0;       // that found it
  std::string violation;   // its name
  double cpu_s = 0;
};

// In order of the list; empty if no fault has the name asked for. `progress` is called as each is done.
std::vector<MutationResult> check_mutations(const MutationOptions& options,
                                            const std::function<void(const MutationResult&)>& progress);

}  // namespace l3dml::sim
