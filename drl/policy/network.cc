#include "drl/policy/network.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

using Vector = float __attribute__((vector_size(16)));
constexpr int kVector = 4;

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// y += x W for kBatch rows of x at once, each `x_step` after the last; W has `rows` rows of `step` numbers,
// of which kWide are taken. What is summed stays in registers; each sum is taken in the order of the rows, so
// the result is the same bits however rows and columns are grouped.
template <int kBatch, int kVectors>
void multiply(const float* x, size_t x_step, const float* w, int rows, int step, float* y, size_t y_step) {
  Vector sum[kBatch][kVectors];
  for (int b = 0; b < kBatch; ++b)
    for (int v = 0; v < kVectors; ++v) sum[b][v] = load(y + b * y_step + v * kVector);
  for (int i = 0; i < rows; ++i) {
    Vector weight[kVectors];
    for (int v = 0; v < kVectors; ++v) weight[v] = load(w + static_cast<size_t>(i) * step + v * kVector);
    for (int b = 0; b < kBatch; ++b) {
      const float value = x[b * x_step + i];
      for (int v = 0; v < kVectors; ++v) sum[b][v] += value * weight[v];
    }
  }
  for (int b = 0; b < kBatch; ++b)
    for (int v = 0; v < kVectors; ++v) std::memcpy(y + b * y_step + v * kVector, &sum[b][v], sizeof(Vector));
}

// y += x W for `batch` rows; x of `rows` numbers, W rows x columns, y of `columns`.
void add_products(int batch, const float* x, size_t x_step, const float* w, int rows, int columns, float* y) {
  const size_t y_step = columns;
  int at = 0;
  for (; at + 2 * kVector <= columns; at += 2 * kVector) {
    int b = 0;
    for (; b + 4 <= batch; b += 4)
      multiply<4, 2>(x + b * x_step, x_step, w + at, rows, columns, y + b * y_step + at, y_step);
    for (; b < batch; ++b)
      multiply<1, 2>(x + b * x_step, x_step, w + at, rows, columns, y + b * y_step + at, y_step);
  }
  for (; at + kVector <= columns; at += kVector)
    for (int b = 0; b < batch; ++b)
      multiply<1, 1>(x + b * x_step, x_step, w + at, rows, columns, y + b * y_step + at, y_step);
  for (; at < columns; ++at)
    for (int b = 0; b < batch; ++b)
      for (int i = 0; i < rows; ++i)
        y[b * y_step + at] += x[b * x_step + i] * w[static_cast<size_t>(i) * columns + at];
}

void relu(float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = std::max(0.0f, y[i]);
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
  const int input = kCandidateFeatures + 2 * h;
  out.assign(count, 0);
  if (count == 0) return;
  s.link.resize(static_cast<size_t>(links) * kLinkFeatures);
  s.h1.resize(static_cast<size_t>(links) * h);
  s.h2.resize(static_cast<size_t>(links) * h);
  s.z1.resize(static_cast<size_t>(count) * h);
  s.z2.resize(static_cast<size_t>(count) * h);
  s.context.assign(h + kGlobalFeatures, 0);
  s.input.resize(static_cast<size_t>(count) * input);
  s.sums.resize(static_cast<size_t>(count) * h);
  s.pooled.resize(h);
  float* const context = s.context.data();
  const auto set_context = [&](const std::vector<float>& of) {  // mean over links
    std::fill(context, context + h, 0.0f);
    for (int e = 0; e < links; ++e)
      for (int j = 0; j < h; ++j) context[j] += of[static_cast<size_t>(e) * h + j];
    for (int j = 0; j < h; ++j) context[j] /= static_cast<float>(links);
  };
  const auto repeat = [&](const float* row, int times, std::vector<float>& to) {
    for (int i = 0; i < times; ++i) std::copy_n(row, h, &to[static_cast<size_t>(i) * h]);
  };
  // What all links (candidates) have in common: bias and context.
  const auto set_pooled = [&](Index bias, Index weights, int rows) {
    std::copy_n(at(bias), h, s.pooled.begin());
    add_products(1, context, 0, at(weights), rows, h, s.pooled.data());
  };
  normalise(o.global.data(), at(kGlobalMean), at(kGlobalScale), kGlobalFeatures, context + h);

  for (int e = 0; e < links; ++e)
    normalise(&o.link[static_cast<size_t>(e) * kLinkFeatures], at(kLinkMean), at(kLinkScale), kLinkFeatures,
              &s.link[static_cast<size_t>(e) * kLinkFeatures]);
  repeat(at(kLink1B), links, s.h1);
  add_products(links, s.link.data(), kLinkFeatures, at(kLink1W), kLinkFeatures, h, s.h1.data());
  relu(s.h1.data(), s.h1.size());
  set_context(s.h1);
  set_pooled(kLink2B, kLink2ContextW, h + kGlobalFeatures);
  repeat(s.pooled.data(), links, s.h2);
  add_products(links, s.h1.data(), h, at(kLink2W), h, h, s.h2.data());
  relu(s.h2.data(), s.h2.size());
  set_context(s.h2);
  set_pooled(kCandidate1B, kCandidate1ContextW, h + kGlobalFeatures);

  const auto pool_links = [&](const std::vector<float>& weights, int place) {
    std::fill(s.sums.begin(), s.sums.end(), 0.0f);
    add_products(count, weights.data(), links, s.h2.data(), links, h, s.sums.data());
    for (int c = 0; c < count; ++c)
      std::copy_n(&s.sums[static_cast<size_t>(c) * h], h, &s.input[static_cast<size_t>(c) * input + place]);
  };
  pool_links(o.takes, kCandidateFeatures);
  pool_links(o.cost, kCandidateFeatures + h);
  for (int c = 0; c < count; ++c)
    normalise(&o.candidate[static_cast<size_t>(c) * kCandidateFeatures], at(kCandidateMean),
              at(kCandidateScale), kCandidateFeatures, &s.input[static_cast<size_t>(c) * input]);
  repeat(s.pooled.data(), count, s.z1);
  add_products(count, s.input.data(), input, at(kCandidate1W), input, h, s.z1.data());
  relu(s.z1.data(), s.z1.size());

  std::fill(context, context + h, 0.0f);  // from here on: mean over the rivals
  for (int c = 0; c < count; ++c)
    for (int j = 0; j < h; ++j)
      context[j] += s.z1[static_cast<size_t>(c) * h + j] / static_cast<float>(count);
  set_pooled(kCandidate2B, kCandidate2RivalsW, h);
  repeat(s.pooled.data(), count, s.z2);
  add_products(count, s.z1.data(), h, at(kCandidate2W), h, h, s.z2.data());
  relu(s.z2.data(), s.z2.size());
  for (int c = 0; c < count; ++c)
    for (int j = 0; j < h; ++j) out[c] += s.z2[static_cast<size_t>(c) * h + j] * at(kScoreW)[j];
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
