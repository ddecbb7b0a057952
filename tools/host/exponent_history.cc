#include "tools/host/exponent_history.h"

#include <algorithm>

namespace l3dml::host {

namespace {
constexpr uint8_t kMostMargin = 5, kCalm = 32;
}

ExponentRecord::ExponentRecord(uint32_t chunks, uint8_t least_margin,
                               std::shared_ptr<ExponentRecord> previous)
    : chunks_(chunks),
      blocks_left_((chunks + kBlockChunks - 1) / kBlockChunks),
      least_margin_(least_margin),
      blocks_(blocks_left_),
      previous_(std::move(previous)) {
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    blocks_[b].left = std::min(kBlockChunks, chunks - b * kBlockChunks);
}

ExponentRecord::Prediction ExponentRecord::predict(uint32_t chunk) const {
  const Block& block = blocks_[chunk / kBlockChunks];
  if (block.left) return {Known::not_yet, 0};
  return {block.predicted ? Known::yes : Known::no, block.predicted};
}

bool ExponentRecord::add(uint32_t chunk, uint8_t sum_exp, uint8_t asked_exp) {
  Block& block = blocks_[chunk / kBlockChunks];
  if (sum_exp > kernels::kExpMin && sum_exp <= kernels::kExpMax)
    block.sum_exp = std::max(block.sum_exp, sum_exp);
  if (asked_exp) {
    block.asked_exp = std::max(block.asked_exp, asked_exp);
  } else {
    block.all_asked = false;
  }
  return --block.left == 0 && complete(chunk / kBlockChunks);
}

bool ExponentRecord::add_unknown(uint32_t chunk) {
  Block& block = blocks_[chunk / kBlockChunks];
  block.all_asked = false;
  return --block.left == 0 && complete(chunk / kBlockChunks);
}

bool ExponentRecord::complete(uint32_t b) {
  Block& block = blocks_[b];
  const Block* before = previous_ && previous_->blocks_[b].left == 0 ? &previous_->blocks_[b] : nullptr;
  const int gap_before = before && !block.all_asked ? before->gap : 0;
  int gap = gap_before;
  if (block.asked_exp && block.sum_exp) gap = std::max(gap_before, block.asked_exp - block.sum_exp);
  block.gap = static_cast<uint8_t>(std::clamp(gap, 0, 64));
  block.margin = before ? std::max(before->margin, least_margin_) : least_margin_;
  if (before && before->predicted && block.asked_exp) {  // a prediction was too small
    block.margin = std::min<uint8_t>(block.margin + 1, kMostMargin);
  } else if (before && ++(block.calm = before->calm) == kCalm) {
    block.margin = std::max<uint8_t>(block.margin - 1, least_margin_);
    block.calm = 0;
  }
  int predicted = 0;
  if (block.sum_exp) {
    predicted = block.sum_exp + block.gap + block.margin;
  } else if (block.asked_exp) {
    predicted = block.asked_exp + block.margin;
  } else if (before) {
    predicted = before->predicted;
  }
  block.predicted = static_cast<uint8_t>(std::clamp<int>(predicted, 0, kernels::kExpMax));
  if (--blocks_left_ == 0) previous_.reset();
  return true;
}

std::shared_ptr<ExponentRecord> ExponentHistory::open(const Collective& c, uint32_t chunks,
                                                      std::shared_ptr<ExponentRecord>* previous) {
  const Key key{c.key,
                c.count,
                chunks,
                static_cast<uint8_t>(c.type),
                static_cast<uint8_t>(c.format),
                static_cast<uint8_t>(c.op)};
  if (!records_.contains(key) && records_.size() >= kMaxKeys) {
    records_.erase(std::min_element(records_.begin(), records_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Last& last = records_[key];
  *previous = last.record;
  // fixed32 has bits to spare, the small formats have few.
  const uint8_t margin = c.format == kernels::LaneFormat::kFixed32 ? 3 : 1;
  last.record = std::make_shared<ExponentRecord>(chunks, margin, *previous);
  last.used = ++clock_;
  return last.record;
}

}  // namespace l3dml::host
