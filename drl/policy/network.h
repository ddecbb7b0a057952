// The policy's network, by hand: float32 inference without torch, for the controller and for rollouts.
// drl/agent/torch_net is its twin and trains the same parameters; a test compares them.
//
// A graph of links and candidate trees: each link embeds its state together with the mean of all links; each
// candidate embeds its own features with its links' embeddings, pooled twice (by use, and by what it pays
// there), then looks at the mean of its rivals; a score each. Any number of links, children and candidates.
// Immutable after create(); threads share it, each with a Scratch.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/policy/refine.h"

namespace l3dml::drl {

struct Parameter {
  std::string name;
  int rows, columns;  // y = x W: rows = inputs; rows = 1 for biases and vectors
};

// In the order in which a model file holds them; torch_net registers the same list. `value.*` is the critic:
// it is not run here.
std::vector<Parameter> network_parameters(int hidden);

class Network {
 public:
  struct Scratch {
    std::vector<float> link, h1, h2, z1, z2, context, pooled, input, sums;
  };

  // InvalidArgument if the count of weights does not fit or one is not finite.
  static absl::StatusOr<Network> create(int hidden, std::vector<float> weights);

  // One score per candidate (logits).
  void scores(const Observation& observation, Scratch& scratch, std::vector<float>& out) const;

  // How far the observation lies from what was seen in training: mean absolute deviation of the link and
  // candidate features, in standard deviations (about 0.8 in training).
  float strangeness(const Observation& observation) const;

  int hidden() const { return hidden_; }
  const std::vector<float>& weights() const { return weights_; }

 private:
  const float* at(int parameter) const { return weights_.data() + offset_[parameter]; }
  int hidden_ = 0;
  std::vector<float> weights_;
  std::vector<size_t> offset_;
};

}  // namespace l3dml::drl
