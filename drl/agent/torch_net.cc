#include "drl/agent/torch_net.h"

#include <cmath>
#include <cstring>

namespace l3dml::drl {

Batch make_batch(std::span<const Observation* const> observations) {
  const int64_t count = static_cast<int64_t>(observations.size());
  int64_t links = 1, candidates = 1;
  for (const Observation* o : observations) {
    links = std::max<int64_t>(links, o->links);
    candidates = std::max<int64_t>(candidates, o->candidates);
  }
  Batch b{torch::zeros({count, links, kLinkFeatures}),
          torch::zeros({count, links}),
          torch::zeros({count, candidates, links}),
          torch::zeros({count, candidates, links}),
          torch::zeros({count, candidates, kCandidateFeatures}),
          torch::zeros({count, candidates}),
          torch::zeros({count, kGlobalFeatures})};
  for (int64_t i = 0; i < count; ++i) {
    const Observation& o = *observations[i];
    std::copy(o.link.begin(), o.link.end(), b.link.data_ptr<float>() + i * links * kLinkFeatures);
    std::copy(o.candidate.begin(), o.candidate.end(),
              b.candidate.data_ptr<float>() + i * candidates * kCandidateFeatures);
    std::copy(o.global.begin(), o.global.end(), b.global.data_ptr<float>() + i * kGlobalFeatures);
    std::fill_n(b.link_mask.data_ptr<float>() + i * links, o.links, 1.0f);
    std::fill_n(b.candidate_mask.data_ptr<float>() + i * candidates, o.candidates, 1.0f);
    for (int c = 0; c < o.candidates; ++c) {
      const int64_t to = (i * candidates + c) * links;
      std::copy_n(o.takes.begin() + static_cast<int64_t>(c) * o.links, o.links,
                  b.takes.data_ptr<float>() + to);
      std::copy_n(o.cost.begin() + static_cast<int64_t>(c) * o.links, o.links, b.cost.data_ptr<float>() + to);
    }
  }
  return b;
}

TorchNet::TorchNet(int hidden) : hidden_(hidden) {
  for (const Parameter& p : network_parameters(hidden)) {
    const bool normalisation = p.name.rfind("norm.", 0) == 0;
    torch::Tensor w = torch::zeros({p.rows, p.columns});
    if (normalisation && p.name.find("scale") != std::string::npos)
      w = torch::ones({p.rows, p.columns});
    else if (!normalisation && p.rows > 1)
      w = torch::randn({p.rows, p.columns}) * std::sqrt(2.0 / p.rows) * (p.columns == 1 ? 0.1 : 1.0);
    std::string name = p.name;  // torch allows no dots in names
    std::replace(name.begin(), name.end(), '.', '_');
    parameters_by_name_.insert(p.name,
                               normalisation ? register_buffer(name, w) : register_parameter(name, w));
  }
}

TorchNet::Output TorchNet::forward(const Batch& b) {
  const auto norm = [&](const torch::Tensor& x, const char* mean, const char* scale) {
    return ((x - at(mean)) * at(scale)).clamp(-8, 8);
  };
  const torch::Tensor link_mask = b.link_mask.unsqueeze(2), candidate_mask = b.candidate_mask.unsqueeze(2);
  const torch::Tensor links = b.link_mask.sum(1, true),
                      candidates = b.candidate_mask.sum(1, true).clamp_min(1);
  const torch::Tensor global = norm(b.global, "norm.global_mean", "norm.global_scale");

  torch::Tensor h = norm(b.link, "norm.link_mean", "norm.link_scale");
  h = torch::relu(h.matmul(at("link1.w")) + at("link1.b")) * link_mask;
  torch::Tensor context = torch::cat({h.sum(1) / links, global}, 1);
  h = torch::relu(h.matmul(at("link2.w")) +
                  (context.matmul(at("link2.context_w")) + at("link2.b")).unsqueeze(1)) *
      link_mask;
  const torch::Tensor mean_link = h.sum(1) / links;
  context = torch::cat({mean_link, global}, 1);

  torch::Tensor z = torch::cat(
      {norm(b.candidate, "norm.candidate_mean", "norm.candidate_scale"), b.takes.bmm(h), b.cost.bmm(h)}, 2);
  z = torch::relu(z.matmul(at("candidate1.w")) +
                  (context.matmul(at("candidate1.context_w")) + at("candidate1.b")).unsqueeze(1)) *
      candidate_mask;
  const torch::Tensor rivals = z.sum(1) / candidates;
  z = torch::relu(z.matmul(at("candidate2.w")) +
                  (rivals.matmul(at("candidate2.rivals_w")) + at("candidate2.b")).unsqueeze(1)) *
      candidate_mask;
  Output out;
  out.scores = z.matmul(at("score.w")).squeeze(2) + (b.candidate_mask - 1) * 1e9;
  const torch::Tensor state = torch::cat({z.sum(1) / candidates, mean_link, global}, 1);
  out.value =
      (torch::relu(state.matmul(at("value.w1")) + at("value.b1")).matmul(at("value.w2")) + at("value.b2"))
          .squeeze(1);
  return out;
}

std::vector<float> TorchNet::flat() const {
  std::vector<float> out;
  for (const auto& item : parameters_by_name_) {
    const torch::Tensor t = item.value().detach().contiguous();
    out.insert(out.end(), t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
  }
  return out;
}

void TorchNet::set_flat(const std::vector<float>& weights) {
  const torch::NoGradGuard guard;
  size_t at = 0;
  for (auto& item : parameters_by_name_) {
    std::memcpy(item.value().data_ptr<float>(), weights.data() + at, item.value().numel() * sizeof(float));
    at += static_cast<size_t>(item.value().numel());
  }
}

}  // namespace l3dml::drl
