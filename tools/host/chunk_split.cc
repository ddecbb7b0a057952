#include "tools/host/chunk_split.h"

#include <algorithm>
#include <cmath>

namespace l3dml::host {
namespace {

constexpr double kCycle = 64;  // chunks, about

// Smooth weighted round-robin: each turn the stripe that is furthest behind its weight.
std::vector<unsigned> deal(const std::vector<int>& weights) {
  int total = 0;
  for (const int w : weights) total += w;
  std::vector<int> credit(weights.size());
  std::vector<unsigned> turns;
  for (int turn = 0; turn < total; ++turn) {
    for (size_t i = 0; i < weights.size(); ++i) credit[i] += weights[i];
    const auto next = std::max_element(credit.begin(), credit.end());
    *next -= total;
    turns.push_back(static_cast<unsigned>(next - credit.begin()));
  }
  return turns;
}

}  // namespace

ChunkSplit::ChunkSplit(std::span<const StripeConfig> stripes) {
  if (stripes.size() == 1) {  // stride 0: chunk after chunk
    for (Cycle& cycle : cycles_) cycle.starts.resize(1);
    return;
  }
  double total = 0;  // shares are of elements; wider packets need fewer chunks
  for (const StripeConfig& s : stripes) total += s.share / s.lanes;
  std::vector<int> weights;
  for (const StripeConfig& s : stripes)
    weights.push_back(std::max(1, static_cast<int>(std::lround(s.share / s.lanes / total * kCycle))));
  const std::vector<unsigned> turns = deal(weights);
  for (size_t format = 0; format < cycles_.size(); ++format) {
    Cycle& cycle = cycles_[format];
    cycle.starts.resize(stripes.size());
    for (const unsigned stripe : turns) {
      cycle.starts[stripe].push_back(cycle.stride);
      cycle.stride +=
          stripes[stripe].lanes * kernels::elements_per_lane(static_cast<kernels::LaneFormat>(format));
    }
  }
}

ChunkLayout ChunkSplit::layout(unsigned stripe, kernels::LaneFormat format) const {
  const Cycle& cycle = cycles_[static_cast<size_t>(format)];
  return {cycle.stride, cycle.starts[stripe]};
}

}  // namespace l3dml::host
