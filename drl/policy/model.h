// A model on disk: three lines of text, so that signed-off ones can be compiled in.
//   l3dml-policy VERSION HASH          HASH: FNV-1a, 64 bit, hexadecimal, of everything after this line
//   {metadata}                         JSON: name, steps, hidden, regime, trained_on, scores
//   base64 of the weights              float32, little-endian, in the order of network_parameters()
// A file that is cut, changed, of another version or of other features is refused with the reason.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drl/policy/network.h"

namespace l3dml::drl {

inline constexpr int kModelVersion = 1;

struct Range {
  double low = 0, high = 0;
  bool holds(double x) const { return x >= low && x <= high; }
};

struct ModelInfo {
  std::string name;
  int steps = 12;
  int hidden = 32;
  // What it was trained for; the gate takes it for nothing else.
  Range sites{2, 4096}, children{1, kMaxChildren}, bytes{1, 1e15};
  float strangeness = 0;  // 99.9th percentile in training, above it an observation counts as out of
                          // distribution; 0 = no limit
  std::vector<std::string> trained_on;   // topologies, scenario kinds
  std::map<std::string, double> scores;  // validation: mean, p95, seed, ...
  std::string hash;                      // set by parse_model
};

struct Model {
  ModelInfo info;
  Network network;
};

absl::StatusOr<Model> parse_model(absl::string_view text);
absl::StatusOr<Model> read_model(const std::string& file);
std::string format_model(const ModelInfo& info, const std::vector<float>& weights);

}  // namespace l3dml::drl
