#include "drl/policy/network.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace l3dml::drl {
namespace {

enum Index {  // into network_parameters()
  kLinkMean,
  kLinkScale,
  kCandidateMean,
  kCandidateScale,
  kGlobalMean,
  kGlobalScale,
  kLink1W,
  kLink1B,
  kLink2W,
  kLink2ContextW,
  kLink2B,
  kCandidate1W,
  kCandidate1ContextW,
  kCandidate1B,
  kCandidate2W,
  kCandidate2RivalsW,
  kCandidate2B,
  kScoreW,
};

// y += x W, x of `rows` numbers, W rows x columns; the inner loop runs over columns, so that it vectorises.
void add_product(const float* x, const float* w, int rows, int columns, float* y) {
  for (int i = 0; i < rows; ++i) {
    const float v = x[i];
    if (v == 0) continue;
    const float* row = w + static_cast<size_t>(i) * columns;
    for (int j = 0; j < columns; ++j) y[j] += v * row[j];
  }
}

void relu(float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = std::max(0.0f, y[i]);
}

void normalise(const float* x, const float* mean, const float* scale, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = std::clamp((x[i] - mean[i]) * scale[i], -8.0f, 8.0f);
}

}  // namespace

std::vector<Parameter> network_parameters(int h) {
  return {{"norm.link_mean", 1, kLinkFeatures},
          {"norm.link_scale", 1, kLinkFeatures},
          {"norm.candidate_mean", 1, kCandidateFeatures},
          {"norm.candidate_scale", 1, kCandidateFeatures},
          {"norm.global_mean", 1, kGlobalFeatures},
          {"norm.global_scale", 1, kGlobalFeatures},
          {"link1.w", kLinkFeatures, h},
          {"link1.b", 1, h},
          {"link2.w", h, h},
          {"link2.context_w", h + kGlobalFeatures, h},
          {"link2.b", 1, h},
          {"candidate1.w", kCandidateFeatures + 2 * h, h},
          {"candidate1.context_w", h + kGlobalFeatures, h},
          {"candidate1.b", 1, h},
          {"candidate2.w", h, h},
          {"candidate2.rivals_w", h, h},
          {"candidate2.b", 1, h},
          {"score.w", h, 1},
          {"value.w1", 2 * h + kGlobalFeatures, h},
          {"value.b1", 1, h},
          {"value.w2", h, 1},
          {"value.b2", 1, 1}};
}

absl::StatusOr<Network> Network::create(int hidden, std::vector<float> weights) {
  if (hidden < 1 || hidden > 1024) return absl::InvalidArgumentError(absl::StrCat("hidden size ", hidden));
  Network n;
  n.hidden_ = hidden;
  size_t count = 0;
  for (const Parameter& p : network_parameters(hidden)) {
    n.offset_.push_back(count);
    count += static_cast<size_t>(p.rows) * p.columns;
  }
  if (weights.size() != count)
    return absl::InvalidArgumentError(absl::StrCat(weights.size(), " weights, expected ", count));
  if (!std::all_of(weights.begin(), weights.end(), [](float w) { return std::isfinite(w); }))
    return absl::InvalidArgumentError("a weight is not finite");
  n.weights_ = std::move(weights);
  return n;
}

void Network::scores(const Observation& o, Scratch& s, std::vector<float>& out) const {
  const int h = hidden_, links = o.links, count = o.candidates;
  out.assign(count, 0);
  if (count == 0) return;
  s.link.resize(kLinkFeatures);
  s.h1.assign(static_cast<size_t>(links) * h, 0);
  s.h2.assign(static_cast<size_t>(links) * h, 0);
  s.z1.assign(static_cast<size_t>(count) * h, 0);
  s.z2.assign(static_cast<size_t>(count) * h, 0);
  s.context.assign(h + kGlobalFeatures, 0);
  s.input.resize(kCandidateFeatures + 2 * h);
  s.pooled.assign(h, 0);
  float* const context = s.context.data();
  const auto set_context = [&](const std::vector<float>& of) {  // mean over links
    std::fill(context, context + h, 0.0f);
    for (int e = 0; e < links; ++e)
      for (int j = 0; j < h; ++j) context[j] += of[static_cast<size_t>(e) * h + j];
    for (int j = 0; j < h; ++j) context[j] /= static_cast<float>(links);
  };
  normalise(o.global.data(), at(kGlobalMean), at(kGlobalScale), kGlobalFeatures, context + h);

  for (int e = 0; e < links; ++e) {
    float* y = &s.h1[static_cast<size_t>(e) * h];
    normalise(&o.link[static_cast<size_t>(e) * kLinkFeatures], at(kLinkMean), at(kLinkScale), kLinkFeatures,
              s.link.data());
    std::copy_n(at(kLink1B), h, y);
    add_product(s.link.data(), at(kLink1W), kLinkFeatures, h, y);
    relu(y, h);
  }
  set_context(s.h1);
  std::copy_n(at(kLink2B), h, s.pooled.begin());
  add_product(context, at(kLink2ContextW), h + kGlobalFeatures, h, s.pooled.data());
  for (int e = 0; e < links; ++e) {
    float* y = &s.h2[static_cast<size_t>(e) * h];
    std::copy_n(s.pooled.begin(), h, y);
    add_product(&s.h1[static_cast<size_t>(e) * h], at(kLink2W), h, h, y);
    relu(y, h);
  }
  set_context(s.h2);
  std::copy_n(at(kCandidate1B), h, s.pooled.begin());
  add_product(context, at(kCandidate1ContextW), h + kGlobalFeatures, h, s.pooled.data());
  for (int c = 0; c < count; ++c) {
    normalise(&o.candidate[static_cast<size_t>(c) * kCandidateFeatures], at(kCandidateMean),
              at(kCandidateScale), kCandidateFeatures, s.input.data());
    float* by_use = s.input.data() + kCandidateFeatures;
    std::fill(by_use, by_use + 2 * h, 0.0f);
    for (int e = 0; e < links; ++e) {
      const float use = o.takes[static_cast<size_t>(c) * links + e];
      const float pays = o.cost[static_cast<size_t>(c) * links + e];
      if (use == 0 && pays == 0) continue;
      const float* x = &s.h2[static_cast<size_t>(e) * h];
      for (int j = 0; j < h; ++j) by_use[j] += use * x[j];
      for (int j = 0; j < h; ++j) by_use[h + j] += pays * x[j];
    }
    float* y = &s.z1[static_cast<size_t>(c) * h];
    std::copy_n(s.pooled.begin(), h, y);
    add_product(s.input.data(), at(kCandidate1W), kCandidateFeatures + 2 * h, h, y);
    relu(y, h);
  }
  std::fill(context, context + h, 0.0f);  // from here on: mean over the rivals
  for (int c = 0; c < count; ++c)
    for (int j = 0; j < h; ++j)
      context[j] += s.z1[static_cast<size_t>(c) * h + j] / static_cast<float>(count);
  std::copy_n(at(kCandidate2B), h, s.pooled.begin());
  add_product(context, at(kCandidate2RivalsW), h, h, s.pooled.data());
  for (int c = 0; c < count; ++c) {
    float* y = &s.z2[static_cast<size_t>(c) * h];
    std::copy_n(s.pooled.begin(), h, y);
    add_product(&s.z1[static_cast<size_t>(c) * h], at(kCandidate2W), h, h, y);
    relu(y, h);
    for (int j = 0; j < h; ++j) out[c] += y[j] * at(kScoreW)[j];
  }
}

float Network::strangeness(const Observation& o) const {
  double sum = 0;
  long count = 0;
  const auto add = [&](const std::vector<float>& values, int width, Index mean, Index scale) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int f = static_cast<int>(i % width);
      sum += std::min(20.0f, std::abs((values[i] - at(mean)[f]) * at(scale)[f]));
      ++count;
    }
  };
  add(o.link, kLinkFeatures, kLinkMean, kLinkScale);
  add(o.candidate, kCandidateFeatures, kCandidateMean, kCandidateScale);
  return count ? static_cast<float>(sum / static_cast<double>(count)) : 0;
}

}  // namespace l3dml::drl
