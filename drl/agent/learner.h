// The trainable policy: libtorch behind a torch-free face (including torch/torch.h costs half a minute a
// file). Files: torch_net.cc holds the network, ppo.cc the learning. One thread; the same seed and the same
// calls give the same weights.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drl/agent/rollout.h"

namespace l3dml::drl {

struct PpoOptions {
  double learning_rate = 3e-4;
  double gamma = 1;      // episodes are short and their sum is what counts
  double lambda = 0.95;  // of generalised advantage estimation
  double clip = 0.2;     // of the probability ratio, and of the change of a value estimate
  double entropy_weight = 0.003;
  double value_weight = 0.5;
  double max_gradient_norm = 0.5;
  double target_kl = 0.02;  // epochs end early once the policy moved this far (approximate KL)
  int epochs = 4;
  int minibatch = 256;
};

struct PpoStats {
  double policy_loss = 0, value_loss = 0, entropy = 0, kl = 0,
         clipped = 0;             // means over minibatches; clipped: part of samples
  double explained_variance = 0;  // of returns by values, before the update
  int epochs = 0;                 // run until target_kl
};

// An observation with what an expert thinks of each candidate.
struct Lesson {
  Observation observation;
  std::vector<float> target;  // probability per candidate
  float value = 0;            // return that the expert expects
};

class Learner {
 public:
  // Fresh weights from the seed.
  static std::unique_ptr<Learner> create(int hidden, uint64_t seed);
  virtual ~Learner() = default;

  // Mean and deviation of features over these observations; part of the weights from then on.
  virtual void set_normalisation(std::span<const Observation* const> observations) = 0;

  virtual std::vector<float> weights() const = 0;  // for Network::create
  virtual absl::Status set_weights(const std::vector<float>& weights) = 0;
  virtual std::vector<std::vector<float>> scores(std::span<const Observation* const> observations) = 0;
  virtual std::vector<float> values(std::span<const Observation* const> observations) = 0;

  // One pass of behaviour cloning (cross-entropy, and value regression); returns the mean cross-entropy.
  virtual double imitate(const std::vector<Lesson>& lessons, int minibatch, double learning_rate) = 0;
  virtual PpoStats update(const std::vector<Trajectory>& experience, const PpoOptions& options) = 0;

  // Weights, optimiser state and random state: training goes on as if it had not stopped.
  virtual absl::Status save(const std::string& file) const = 0;
  virtual absl::Status restore(const std::string& file) = 0;
};

}  // namespace l3dml::drl
