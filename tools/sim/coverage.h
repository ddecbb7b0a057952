// What a batch of scenarios went through: how many of them had each property that the scenario space is meant
// to have. Some are drawn (loss, window), some only show in the run (a number wrapped, a tree was four deep).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sim/outcome.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

class Coverage {
 public:
  Coverage();
  void add(const Scenario& scenario, const Outcome& outcome);
  void add(const Coverage& other);

  struct Count {
    const char* property;
    uint64_t scenarios;
  };
  const std::vector<Count>& counts() const { return counts_; }
  std::string format() const;                // for people; several lines
  std::vector<std::string> missing() const;  // properties of no scenario

 private:
  std::vector<Count> counts_;
};

}  // namespace l3dml::sim
