#include "tools/sim/workload.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace l3dml::sim {
namespace {

using kernels::ElementType;
using kernels::LaneFormat;

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

double load_element(ElementType type, const void* tensor, size_t i) {
  switch (type) {
    case ElementType::kFloat32:
      return static_cast<const float*>(tensor)[i];
    case ElementType::kFloat64:
      return static_cast<const double*>(tensor)[i];
    case ElementType::kFloat16:
      return kernels::float_of_half(static_cast<const uint16_t*>(tensor)[i]);
    case ElementType::kBfloat16:
      return kernels::float_of_bfloat16(static_cast<const uint16_t*>(tensor)[i]);
    case ElementType::kInt32:
      return static_cast<const int32_t*>(tensor)[i];
  }
  return 0;
}

void store_element(ElementType type, void* tensor, size_t i, double value) {
  switch (type) {
    case ElementType::kFloat32:
      static_cast<float*>(tensor)[i] = static_cast<float>(value);
      break;
    case ElementType::kFloat64:
      static_cast<double*>(tensor)[i] = value;
      break;
    case ElementType::kFloat16:
      static_cast<uint16_t*>(tensor)[i] = kernels::half_of_float(static_cast<float>(value));
      break;
    case ElementType::kBfloat16:
      static_cast<uint16_t*>(tensor)[i] = kernels::bfloat16_of_float(static_cast<float>(value));
      break;
    case ElementType::kInt32:
      static_cast<int32_t*>(tensor)[i] = static_cast<int32_t>(value);
      break;
  }
}

Workload::Workload(const JobSpec& spec, uint32_t job, uint32_t world, uint64_t seed)
    : spec_(spec),
      job_(job),
      world_(world),
      seed_(mix(seed + 0x1234567 * (job + 1))),
      firsts_(spec.collectives.size()),
      gone_(world) {
  largest_magnitude_ = std::numeric_limits<int>::min();
  for (const CollectiveSpec& c : spec.collectives)
    largest_magnitude_ = std::max(largest_magnitude_, c.magnitude);
}

size_t Workload::size_bytes(size_t collective) const {
  return spec_.collectives[collective].count * kernels::element_size(spec_.collectives[collective].type);
}

int32_t Workload::integer(uint32_t member, size_t collective, size_t element) const {
  return static_cast<int32_t>(mix(seed_ ^ mix(uint64_t{member} << 40 ^ collective << 24 ^ element)));
}

double Workload::value(uint32_t member, size_t collective, size_t element) const {
  return std::ldexp(static_cast<double>(integer(member, collective, element)),
                    spec_.collectives[collective].magnitude - 31);
}

bool Workload::holds_bad(uint32_t member, size_t collective) const {
  return spec_.collectives[collective].not_finite && member == collective % spec_.members.size();
}

void Workload::fill(uint32_t member, size_t collective, void* input) const {
  const CollectiveSpec& c = spec_.collectives[collective];
  if (c.type == ElementType::kInt32) {
    for (size_t i = 0; i < c.count; ++i) static_cast<int32_t*>(input)[i] = integer(member, collective, i);
    return;
  }
  for (size_t i = 0; i < c.count; ++i) store_element(c.type, input, i, value(member, collective, i));
  if (holds_bad(member, collective)) {
    const double bad =
        collective & 1 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < 8; ++k) {
      const auto at = static_cast<uint32_t>(integer(member, collective, k)) % c.count;
      store_element(c.type, input, at, bad);
    }
  }
}

void Workload::add_members(const std::vector<uint32_t>& members) {
  if (std::find(member_sets_.begin(), member_sets_.end(), members) == member_sets_.end())
    member_sets_.push_back(members);
}

void Workload::member_leaves(uint32_t member) {
  gone_[member] = true;
  for (First& first : firsts_) std::erase(first.holders, member);
}

void Workload::fill_residual(uint32_t member, size_t collective, float* residual) const {
  const CollectiveSpec& c = spec_.collectives[collective];
  for (size_t i = 0; i < c.count; ++i)
    residual[i] = static_cast<float>(std::ldexp(value(member + 1000, collective, i), -6));
}

double Workload::summand(uint32_t member, size_t collective, size_t element) const {
  const CollectiveSpec& c = spec_.collectives[collective];
  double x = value(member, collective, element);
  if (c.type == ElementType::kFloat32) x = static_cast<float>(x);
  if (c.type == ElementType::kFloat16)
    x = kernels::float_of_half(kernels::half_of_float(static_cast<float>(x)));
  if (c.type == ElementType::kBfloat16)
    x = kernels::float_of_bfloat16(kernels::bfloat16_of_float(static_cast<float>(x)));
  if (c.residual) x += static_cast<float>(std::ldexp(value(member + 1000, collective, element), -6));
  return x;
}

// Nothing is lost and nothing counted twice: what the members put in, less what they kept for the next step,
// is the sum. Only where one set of members sums from first to last.
std::optional<std::string> Workload::wrong_residual(uint32_t member, size_t collective,
                                                    const std::vector<float>& residual) {
  const CollectiveSpec& c = spec_.collectives[collective];
  First& first = firsts_[collective];
  if (residual.empty() || c.not_finite || member_sets_.size() != 1 || gone_[member]) return std::nullopt;
  if (c.op == host::ReduceOp::average && c.abstain_ns != base::kNever) return std::nullopt;
  first.told.resize(c.count);
  for (size_t i = 0; i < c.count; ++i) first.told[i] += summand(member, collective, i) - double{residual[i]};
  const size_t members = member_sets_[0].size();
  if (++first.told_by < members) return std::nullopt;
  const double divisor = c.op == host::ReduceOp::average ? static_cast<double>(members) : 1;
  const int mantissa = c.type == ElementType::kFloat16 ? 10 : c.type == ElementType::kBfloat16 ? 7 : 22;
  const double round = world_ * std::ldexp(1.0, largest_magnitude_ + 8 - 21);
  for (size_t i = 0; i < c.count; ++i) {
    const double told = first.told[i] / divisor, got = load_element(c.type, first.output.data(), i);
    const double most = round + std::fabs(told) * std::ldexp(1.0, -mantissa) +
                        (c.type == ElementType::kFloat16 ? std::ldexp(1.0, -24) : 0) +
                        (c.format == LaneFormat::kFixed32 ? tolerance(c, told) : 0);
    if (!(std::fabs(told - got) <= most))
      return fmt::format("element {}: the members put in {} less than they kept, the sum is {}", i, told,
                         got);
  }
  return std::nullopt;
}

double Workload::tolerance(const CollectiveSpec& c, double sum) const {
  // The exponent may be as large as the largest of the job plus the margin of its prediction; each member is
  // off by half a step. Then the element type rounds once.
  constexpr int kMargin = 8;
  const int headroom = static_cast<int>(std::bit_width(world_ - 1));
  const int bits = c.format == LaneFormat::kFixed32 ? 30 - headroom : 14 - headroom;
  const int mantissa = c.type == ElementType::kFloat16 ? 10 : c.type == ElementType::kBfloat16 ? 7 : 22;
  return world_ * std::ldexp(1.0, largest_magnitude_ + kMargin - bits) +
         std::fabs(sum) * std::ldexp(1.0, -mantissa);
}

std::optional<std::string> Workload::wrong_integer(const CollectiveSpec& c, size_t collective,
                                                   const void* output) const {
  const auto* out = static_cast<const int32_t*>(output);
  const size_t chunk = spec_.lanes;
  for (size_t start = 0; start < c.count; start += chunk) {
    const size_t end = std::min(c.count, start + chunk);
    bool right = false;
    for (const auto& set : member_sets_) {
      right = true;
      for (size_t i = start; i < end && right; ++i) {
        uint32_t sum = 0;
        for (uint32_t member : set) sum += static_cast<uint32_t>(integer(member, collective, i));
        right = sum == static_cast<uint32_t>(out[i]);
      }
      if (right) break;
    }
    if (!right) return fmt::format("elements {} to {} are no sum over the members of any epoch", start, end);
  }
  return std::nullopt;
}

std::optional<std::string> Workload::wrong_sum(size_t collective, const void* output) const {
  const CollectiveSpec& c = spec_.collectives[collective];
  if (c.abstain_ns != base::kNever || c.format == LaneFormat::kFixed8x4)
    return std::nullopt;  // the ledger checks these
  if (c.type == ElementType::kInt32) {
    if (c.op == host::ReduceOp::sum) return wrong_integer(c, collective, output);
    return std::nullopt;
  }
  for (size_t i = 0; i < c.count; ++i) {
    const double got = load_element(c.type, output, i);
    bool right = false;
    double expected = 0;
    for (const auto& set : member_sets_) {
      expected = 0;
      for (uint32_t member : set) {
        expected += summand(member, collective, i);
      }
      if (c.op == host::ReduceOp::average) expected /= static_cast<double>(set.size());
      right = std::fabs(got - expected) <= tolerance(c, expected);
      if (right) break;
    }
    if (!right) return fmt::format("element {} is {}, the sum is {}", i, got, expected);
  }
  return std::nullopt;
}

std::optional<Violation> Workload::check(uint32_t member, size_t collective, const void* output,
                                         const std::vector<float>& residual,
                                         const host::CollectiveResult& result) {
  const CollectiveSpec& c = spec_.collectives[collective];
  First& first = firsts_[collective];
  const auto wrong = [&](const char* name, const std::string& text) {
    return Violation{name, fmt::format("job {} collective {} ({} elements), member {}: {}", job_ + 1,
                                       collective, c.count, member, text)};
  };
  const bool known = !first.holders.empty();
  if (!gone_[member]) first.holders.push_back(member);
  if (known && !gone_[member]) {
    const uint32_t other = first.holders.front();
    if (result.finite != first.finite)
      return wrong("same_result", fmt::format("{}, but member {} was told otherwise",
                                              result.finite ? "succeeds" : "fails as not finite", other));
    if (result.finite && std::memcmp(output, first.output.data(), first.output.size()) != 0) {
      const auto* bytes = static_cast<const uint8_t*>(output);
      const size_t at = static_cast<size_t>(
          std::mismatch(first.output.begin(), first.output.end(), bytes).first - first.output.begin());
      return wrong("same_result", fmt::format("element {} differs from member {}'s",
                                              at / kernels::element_size(c.type), other));
    }
    if (auto text = wrong_residual(member, collective, residual)) return wrong("exact_residual", *text);
    return std::nullopt;
  }
  if (!known) {
    first.finite = result.finite;
    const auto* bytes = static_cast<const uint8_t*>(output);
    first.output.assign(bytes, bytes + size_bytes(collective));
  }
  const bool one_set = member_sets_.size() == 1;
  const bool bad = c.not_finite && c.type != ElementType::kInt32 && c.count > 0;
  if (!result.finite && !bad) return wrong("exact_sum", "reported as not finite, but all inputs are finite");
  if (result.finite && bad && one_set && c.abstain_ns == base::kNever)
    return wrong("exact_sum", "an input is not finite, and nobody says so");
  if (!result.finite) return std::nullopt;
  if (bad) return std::nullopt;
  if (auto text = wrong_sum(collective, output)) return wrong("exact_sum", *text);
  if (auto text = wrong_residual(member, collective, residual)) return wrong("exact_residual", *text);
  return std::nullopt;
}

}  // namespace l3dml::sim
