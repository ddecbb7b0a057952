// Proximal policy optimisation (Schulman et al. 2017) with the details that matter (Huang et al. 2022, "The
// 37 implementation details"): generalised advantages with a bootstrap where an episode was cut, advantages
// normalised per minibatch, clipped ratio and clipped value, global gradient norm, epochs ended by
// approximate KL (Schulman's k3 estimator), Adam with eps 1e-5.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "drl/agent/learner.h"
#include "drl/agent/torch_net.h"

namespace l3dml::drl {
namespace {

constexpr int kForward = 512;  // observations per forward pass without gradients

class TorchLearner : public Learner {
 public:
  TorchLearner(int hidden, uint64_t seed) : random_(seed) {
    torch::set_num_threads(1);
    torch::manual_seed(seed);
    net_ = std::make_shared<TorchNet>(hidden);
    adam_ =
        std::make_unique<torch::optim::Adam>(net_->parameters(), torch::optim::AdamOptions(3e-4).eps(1e-5));
  }

  void set_normalisation(std::span<const Observation* const> observations) override {
    const torch::NoGradGuard guard;
    const auto set = [&](const std::string& what, int width, auto values_of) {
      std::vector<double> sum(width, 0), square(width, 0);
      double count = 0;
      for (const Observation* o : observations) {
        const auto& values = values_of(*o);
        for (size_t i = 0; i < values.size(); ++i) {
          sum[i % width] += values[i];
          square[i % width] += static_cast<double>(values[i]) * values[i];
        }
        count += static_cast<double>(values.size()) / width;
      }
      for (int f = 0; f < width; ++f) {
        const double mean = sum[f] / count;
        net_->at("norm." + what + "_mean")[0][f] = mean;
        net_->at("norm." + what + "_scale")[0][f] =
            1 / std::sqrt(std::max(1e-4, square[f] / count - mean * mean));
      }
    };
    set(
        "link", kLinkFeatures, [](const Observation& o) -> const auto& { return o.link; });
    set(
        "candidate", kCandidateFeatures, [](const Observation& o) -> const auto& { return o.candidate; });
    set(
        "global", kGlobalFeatures, [](const Observation& o) -> const auto& { return o.global; });
  }

  std::vector<float> weights() const override { return net_->flat(); }

  absl::Status set_weights(const std::vector<float>& weights) override {
    if (weights.size() != net_->flat().size())
      return absl::InvalidArgumentError(absl::StrCat(weights.size(), " weights do not fit this network"));
    net_->set_flat(weights);
    return absl::OkStatus();
  }

  std::vector<std::vector<float>> scores(std::span<const Observation* const> observations) override {
    const torch::NoGradGuard guard;
    const torch::Tensor s = net_->forward(make_batch(observations)).scores.contiguous();
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i < observations.size(); ++i) {
      const float* row = s.data_ptr<float>() + static_cast<int64_t>(i) * s.size(1);
      out.emplace_back(row, row + observations[i]->candidates);
    }
    return out;
  }

  std::vector<float> values(std::span<const Observation* const> observations) override {
    const torch::NoGradGuard guard;
    std::vector<float> out;
    for (size_t from = 0; from < observations.size(); from += kForward) {
      const auto part = observations.subspan(from, std::min<size_t>(kForward, observations.size() - from));
      const torch::Tensor v = net_->forward(make_batch(part)).value.contiguous();
      out.insert(out.end(), v.data_ptr<float>(), v.data_ptr<float>() + v.numel());
    }
    return out;
  }

  double imitate(const std::vector<Lesson>& lessons, int minibatch, double learning_rate) override {
    set_learning_rate(learning_rate);
    std::vector<int> order = shuffled(lessons.size());
    double sum = 0;
    for (size_t from = 0; from < order.size(); from += minibatch) {
      const size_t n = std::min<size_t>(minibatch, order.size() - from);
      std::vector<const Observation*> observations;
      for (size_t i = 0; i < n; ++i) observations.push_back(&lessons[order[from + i]].observation);
      const Batch batch = make_batch(observations);
      torch::Tensor target = torch::zeros_like(batch.candidate_mask),
                    value = torch::zeros({static_cast<int64_t>(n)});
      for (size_t i = 0; i < n; ++i) {
        const Lesson& lesson = lessons[order[from + i]];
        std::copy(lesson.target.begin(), lesson.target.end(),
                  target.data_ptr<float>() + static_cast<int64_t>(i) * target.size(1));
        value.data_ptr<float>()[i] = lesson.value;
      }
      const auto out = net_->forward(batch);
      const torch::Tensor loss = -(target * torch::log_softmax(out.scores, 1)).sum(1).mean();
      step(loss + 0.5 * (out.value - value).square().mean(), 1.0);
      sum += loss.item<double>() * static_cast<double>(n);
    }
    return sum / static_cast<double>(std::max<size_t>(1, lessons.size()));
  }

  PpoStats update(const std::vector<Trajectory>& experience, const PpoOptions& o) override {
    set_learning_rate(o.learning_rate);
    std::vector<const Observation*> observations, cut;
    for (const Trajectory& t : experience)
      for (const Transition& x : t) {
        observations.push_back(&x.observation);
        if (x.cut) cut.push_back(&x.next);
      }
    const std::vector<float> old_value = values(observations), cut_value = values(cut);
    std::vector<float> advantage, target;
    std::vector<int> action;
    size_t at = 0, at_cut = 0;
    for (const Trajectory& t : experience) {
      std::vector<float> value(old_value.begin() + at, old_value.begin() + at + t.size()), next(t.size(), 0);
      for (size_t i = 0; i < t.size(); ++i) {
        if (t[i].cut) next[i] = cut_value[at_cut++];
        action.push_back(t[i].action);
      }
      at += t.size();
      const Advantages a = estimate_advantages(t, value, next, o.gamma, o.lambda);
      advantage.insert(advantage.end(), a.advantage.begin(), a.advantage.end());
      target.insert(target.end(), a.value_target.begin(), a.value_target.end());
    }
    const std::vector<float> old_log = log_probabilities(observations, action);

    PpoStats stats;
    stats.explained_variance = explained_variance(old_value, target);
    int minibatches = 0;
    bool far = false;
    for (int epoch = 0; epoch < o.epochs && !far; ++epoch) {
      const std::vector<int> order = shuffled(observations.size());
      for (size_t from = 0; from < order.size() && !far; from += o.minibatch) {
        const int64_t n = static_cast<int64_t>(std::min<size_t>(o.minibatch, order.size() - from));
        if (n < 2) break;  // nothing to normalise
        std::vector<const Observation*> part;
        torch::Tensor act = torch::zeros({n}, torch::kLong), adv = torch::zeros({n}), ret = torch::zeros({n}),
                      log0 = torch::zeros({n}), val0 = torch::zeros({n});
        for (int64_t i = 0; i < n; ++i) {
          const int j = order[from + i];
          part.push_back(observations[j]);
          act.data_ptr<int64_t>()[i] = action[j];
          adv.data_ptr<float>()[i] = advantage[j];
          ret.data_ptr<float>()[i] = target[j];
          log0.data_ptr<float>()[i] = old_log[j];
          val0.data_ptr<float>()[i] = old_value[j];
        }
        const auto out = net_->forward(make_batch(part));
        const torch::Tensor log_all = torch::log_softmax(out.scores, 1);
        const torch::Tensor log1 = log_all.gather(1, act.unsqueeze(1)).squeeze(1);
        const torch::Tensor difference = log1 - log0, ratio = difference.exp();
        const torch::Tensor normal = (adv - adv.mean()) / (adv.std() + 1e-8);
        const torch::Tensor policy_loss =
            -torch::min(ratio * normal, ratio.clamp(1 - o.clip, 1 + o.clip) * normal).mean();
        const torch::Tensor near = val0 + (out.value - val0).clamp(-o.clip, o.clip);
        const torch::Tensor value_loss =
            0.5 * torch::max((out.value - ret).square(), (near - ret).square()).mean();
        const torch::Tensor entropy = -(log_all.exp() * log_all).sum(1).mean();
        step(policy_loss + o.value_weight * value_loss - o.entropy_weight * entropy, o.max_gradient_norm);

        const double kl = (ratio - 1 - difference).mean().item<double>();
        stats.policy_loss += policy_loss.item<double>();
        stats.value_loss += value_loss.item<double>();
        stats.entropy += entropy.item<double>();
        stats.kl += kl;
        stats.clipped += ((ratio - 1).abs() > o.clip).to(torch::kFloat).mean().item<double>();
        ++minibatches;
        far = kl > 1.5 * o.target_kl;
      }
      stats.epochs = epoch + 1;
    }
    for (double* x : {&stats.policy_loss, &stats.value_loss, &stats.entropy, &stats.kl, &stats.clipped})
      *x /= std::max(1, minibatches);
    return stats;
  }

  absl::Status save(const std::string& file) const override {
    try {
      torch::serialize::OutputArchive archive, net, adam;
      net_->save(net);
      adam_->save(adam);
      archive.write("net", net);
      archive.write("adam", adam);
      archive.write("random", c10::IValue(static_cast<int64_t>(draws_)));
      archive.save_to(file);
    } catch (const c10::Error& e) {
      return absl::InternalError(absl::StrCat(file, ": cannot be written: ", e.what_without_backtrace()));
    }
    return absl::OkStatus();
  }

  absl::Status restore(const std::string& file) override {
    try {
      torch::serialize::InputArchive archive, net, adam;
      archive.load_from(file);
      archive.read("net", net);
      archive.read("adam", adam);
      c10::IValue draws;
      archive.read("random", draws);
      net_->load(net);
      adam_->load(adam);
      for (; draws_ < draws.toInt(); ++draws_) random_.bits();
    } catch (const c10::Error& e) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": is no checkpoint of this network: train anew or name another"));
    }
    return absl::OkStatus();
  }

 private:
  void set_learning_rate(double rate) {
    for (auto& group : adam_->param_groups())
      static_cast<torch::optim::AdamOptions&>(group.options()).lr(rate);
  }

  void step(const torch::Tensor& loss, double max_norm) {
    adam_->zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net_->parameters(), max_norm);
    adam_->step();
  }

  std::vector<float> log_probabilities(std::span<const Observation* const> observations,
                                       const std::vector<int>& action) {
    const torch::NoGradGuard guard;
    std::vector<float> out;
    for (size_t from = 0; from < observations.size(); from += kForward) {
      const auto part = observations.subspan(from, std::min<size_t>(kForward, observations.size() - from));
      const torch::Tensor log_all =
          torch::log_softmax(net_->forward(make_batch(part)).scores, 1).contiguous();
      for (size_t i = 0; i < part.size(); ++i)
        out.push_back(
            log_all.data_ptr<float>()[static_cast<int64_t>(i) * log_all.size(1) + action[from + i]]);
    }
    return out;
  }

  static double explained_variance(const std::vector<float>& value, const std::vector<float>& target) {
    double mean = 0, variance = 0, rest = 0;
    for (const float t : target) mean += t / static_cast<double>(target.size());
    for (size_t i = 0; i < target.size(); ++i) {
      variance += (target[i] - mean) * (target[i] - mean);
      rest += (target[i] - value[i]) * (target[i] - value[i]);
    }
    return variance > 0 ? 1 - rest / variance : 0;
  }

  std::vector<int> shuffled(size_t n) {
    std::vector<int> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<int>(i);
    for (int i = static_cast<int>(n) - 1; i > 0; --i, ++draws_)
      std::swap(order[i], order[random_.below(i + 1)]);
    return order;
  }

  std::shared_ptr<TorchNet> net_;
  std::unique_ptr<torch::optim::Adam> adam_;
  Random random_;      // order of samples
  int64_t draws_ = 0;  // from it, so that a checkpoint can take it up
};

}  // namespace

std::unique_ptr<Learner> Learner::create(int hidden, uint64_t seed) {
  return std::make_unique<TorchLearner>(hidden, seed);
}

}  // namespace l3dml::drl
