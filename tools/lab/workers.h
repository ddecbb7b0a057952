// The workers: one process per rank, each in its namespace, started together and watched to the end. What
// they are told is in their environment (RANK, WORLD_SIZE, MASTER_ADDR, ...; README.md lists it),
// what they say comes back as "progress DONE/TOTAL note" lines and as FOLDER/rankN.json.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/lab/leftovers.h"
#include "tools/lab/process.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {

struct Progress {
  int64_t done = 0, total = 0;
  std::string note;
  friend bool operator==(const Progress&, const Progress&) = default;
};

// The last "progress DONE/TOTAL note" line of a log.
Progress last_progress(const std::string& log);

class Workers {
 public:
  // `membership`: what they join the job by; in the environment of each.
  static absl::StatusOr<Workers> start(const Scenario& scenario,
                                       const std::map<std::string, std::string>& membership,
                                       const std::string& folder, Record* record);

  // True once all have ended well. Error as soon as one has ended badly: which, how, and its last words;
  // where the job goes on without whoever is lost, only when the last has ended and none of them well.
  absl::StatusOr<bool> poll();
  void stop();
  Progress progress() const;
  // By rank; null where a worker wrote none.
  std::vector<nlohmann::json> results() const;

 private:
  Workers(std::string folder, bool go_on) : folder_(std::move(folder)), go_on_(go_on) {}
  std::string log(size_t rank) const;

  std::string folder_;
  bool go_on_;
  std::vector<Process> processes_;  // by rank
  std::vector<std::string> names_;
};

}  // namespace l3dml::lab
