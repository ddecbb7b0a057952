// The network of drl/policy/network.h in libtorch: the same parameters, the same arithmetic, in batches
// padded to the largest observation.
#pragma once

#include <span>
#include <vector>

#include <torch/torch.h>

#include "drl/policy/network.h"

namespace l3dml::drl {

struct Batch {
  torch::Tensor link, link_mask, takes, cost, candidate, candidate_mask, global;
};
Batch make_batch(std::span<const Observation* const> observations);

class TorchNet : public torch::nn::Module {
 public:
  explicit TorchNet(int hidden);

  struct Output {
    torch::Tensor scores;  // B x M, a very low number where there is no candidate
    torch::Tensor value;   // B
  };
  Output forward(const Batch& batch);

  std::vector<float> flat() const;
  void set_flat(const std::vector<float>& weights);
  torch::Tensor& at(const std::string& name) { return parameters_by_name_[name]; }
  int hidden() const { return hidden_; }

 private:
  int hidden_;
  torch::OrderedDict<std::string, torch::Tensor> parameters_by_name_;
};

}  // namespace l3dml::drl
