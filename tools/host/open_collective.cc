#include "tools/host/open_collective.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "dataplane/base/limits.h"
#include "dataplane/base/mutation.h"
#include "dataplane/wire/header.h"

namespace l3dml::host {
namespace {

using kernels::ElementType;

constexpr size_t kMaxElements = base::kMaxLanes * 4;  // of a chunk, in the smallest format

size_t chunk_elements_of(const Collective& c, uint32_t lanes) {
  const auto format = c.type == ElementType::kInt32 ? kernels::LaneFormat::kFixed32 : c.format;
  return lanes * kernels::elements_per_lane(format);
}

double value_at(const Collective& c, size_t i) {
  const auto* at = static_cast<const uint8_t*>(c.input) + i * kernels::element_size(c.type);
  const auto load = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (c.type) {
    case ElementType::kFloat64:
      return load(double{});
    case ElementType::kFloat16:
      return kernels::float_of_half(load(uint16_t{}));
    case ElementType::kBfloat16:
      return kernels::float_of_bfloat16(load(uint16_t{}));
    case ElementType::kInt32:
      return load(int32_t{});
    default:
      return load(float{});
  }
}

}  // namespace

uint64_t OpenCollective::count_chunks(const Collective& c, uint32_t lanes) {
  const size_t each = chunk_elements_of(c, lanes);
  if (c.layout.stride == 0) return (c.count + each - 1) / each;
  const size_t rest = c.count % c.layout.stride;
  uint64_t chunks = c.count / c.layout.stride * c.layout.starts.size();
  for (const size_t start : c.layout.starts) chunks += start < rest;
  return chunks;
}

OpenCollective::OpenCollective(const Collective& collective, unsigned world, uint32_t lanes,
                               uint32_t look_ahead, uint64_t index, uint64_t first_place)
    : c_(collective),
      codec_(collective.type, collective.format, world),
      lanes_(lanes),
      look_ahead_(look_ahead),
      chunks_(static_cast<uint32_t>(count_chunks(collective, lanes))),
      left_(chunks_),
      chunk_elements_(chunk_elements_of(collective, lanes)),
      index_(index),
      first_place_(first_place),
      held_((chunks_ + 63) / 64),
      told_(!integer() && chunks_ > look_ahead ? chunks_ - look_ahead : 0) {
  result_.id = collective.id;
  result_.least_weight = chunks_ ? UINT32_MAX : 0;
}

size_t OpenCollective::element(uint32_t chunk) const {
  if (c_.layout.stride == 0) return chunk * chunk_elements_;
  const size_t per_cycle = c_.layout.starts.size();
  return chunk / per_cycle * c_.layout.stride + c_.layout.starts[chunk % per_cycle];
}

size_t OpenCollective::elements(uint32_t chunk) const {
  return std::min(chunk_elements_, c_.count - element(chunk));
}

const uint8_t* OpenCollective::input(uint32_t chunk) const {
  return static_cast<const uint8_t*>(c_.input) + element(chunk) * kernels::element_size(c_.type);
}

uint8_t OpenCollective::needed_exponent(uint32_t chunk) const {
  return codec_.exponent(input(chunk), carried(chunk), elements(chunk));
}

uint8_t OpenCollective::wish_after(uint32_t chunk) const {
  if (integer() || chunk + uint64_t{look_ahead_} >= chunks_) return 0;
  const uint8_t exp = needed_exponent(chunk + look_ahead_);
  return exp == wire::kExpNonFinite ? kernels::kExpMin : exp;
}

uint8_t OpenCollective::quantize(uint32_t chunk, uint8_t exp, uint8_t* lanes) const {
  const size_t count = elements(chunk);
  float* left_out =
      L3DML_MUTATE(residual_left_when_quantising) && c_.residual ? c_.residual + element(chunk) : nullptr;
  const uint8_t needed = codec_.quantize(lanes, input(chunk), carried(chunk), count, exp, left_out);
  const size_t written = kernels::lanes_for(codec_.format(), count);
  std::memset(lanes + written * 4, 0, (lanes_ - written) * 4);
  return needed;
}

void OpenCollective::commit_residual(uint32_t chunk, uint8_t exp, bool abstained) {
  float* residual = c_.residual + element(chunk);
  const size_t count = elements(chunk);
  if (abstained) {  // all of it is still to be said
    for (size_t i = 0; i < count; ++i) residual[i] += static_cast<float>(value_at(c_, element(chunk) + i));
  } else if (codec_.format() == kernels::LaneFormat::kFixed32) {
    std::fill_n(residual, count, 0.0f);
  } else {
    alignas(64) std::array<uint8_t, base::kMaxLanes * 4> lanes;
    std::array<float, kMaxElements> left_out;
    codec_.quantize(lanes.data(), input(chunk), residual, count, exp, left_out.data());
    std::copy_n(left_out.begin(), count, residual);
  }
}

bool OpenCollective::hold(uint32_t chunk, const uint8_t* lanes, uint8_t exp, uint8_t next_exp,
                          uint32_t weight, bool abstained, uint8_t asked_exp) {
  if (c_.residual && !integer())
    commit_residual(chunk, exp, abstained && !L3DML_MUTATE(abstention_leaves_no_residual));
  auto* out = static_cast<uint8_t*>(c_.output) + element(chunk) * kernels::element_size(c_.type);
  codec_.dequantize(out, lanes, elements(chunk), exp, weight, c_.op == ReduceOp::average);
  result_.least_weight = std::min(result_.least_weight, weight);
  result_.abstained_chunks += abstained;
  mark_held(chunk);
  if (integer()) return false;
  if (chunk < told_.size()) told_[chunk] = next_exp;
  if (chunk >= look_ahead_) return false;
  int mean_exp = codec_.exponent(out, nullptr, elements(chunk));
  if (c_.op == ReduceOp::sum && weight > 1) mean_exp -= static_cast<int>(std::bit_width(weight)) - 1;
  return record_->add(chunk, static_cast<uint8_t>(std::max<int>(mean_exp, kernels::kExpMin)), asked_exp);
}

bool OpenCollective::hold_bad(uint32_t chunk, bool finite) {
  const size_t first = element(chunk), end = first + elements(chunk);
  if (!finite && own_bad_ && *own_bad_ >= first && *own_bad_ < end) {
    result_.finite = false;
    result_.ours = true;
    result_.bad_first = *own_bad_;
    result_.bad_end = *own_bad_ + 1;
  } else if (!finite && result_.finite) {
    result_.finite = false;
    result_.bad_first = first;
    result_.bad_end = end;
  }
  mark_held(chunk);
  return chunk < look_ahead_ && !integer() && record_->add_unknown(chunk);
}

void OpenCollective::note_own_bad(uint32_t chunk) {
  // Only the result says that the call fails: after an epoch change this rank may abstain from the chunk.
  const double limit = std::ldexp(1.0, kernels::kExpMax - 127);
  for (size_t i = 0; i < elements(chunk); ++i) {
    const size_t at = element(chunk) + i;
    const double value = value_at(c_, at) + (c_.residual ? c_.residual[at] : 0.0);
    if (std::isfinite(value) && std::fabs(value) < limit) continue;
    own_bad_ = at;
    return;
  }
}

void OpenCollective::mark_held(uint32_t chunk) {
  held_[chunk / 64] |= uint64_t{1} << chunk % 64;
  --left_;
}

}  // namespace l3dml::host
