#include "dataplane/server/specs.h"

#include <optional>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// The value of the field of that name as a number; absent: there is no such field.
std::optional<double> number(const std::vector<FieldInfo>& infos, const Fields& fields,
                             std::string_view name) {
  for (const FieldInfo& info : infos) {
    if (info.name != name) continue;
    const Value* const value = find_field(fields, info.id);
    if (value == nullptr) return std::nullopt;
    if (const auto* real = std::get_if<float>(value)) return *real;
    if (const auto* bytes = std::get_if<std::string>(value)) return static_cast<double>(to_uint(*bytes));
  }
  return std::nullopt;
}

}  // namespace

std::string spec_mistake(const std::vector<FieldInfo>& infos, const Fields& fields) {
  auto get = [&](std::string_view name) { return number(infos, fields, name); };
  // In each pair the second may not be below the first.
  static constexpr std::pair<std::string_view, std::string_view> kOrdered[] = {
      {"$METER_SPEC_CIR_KBPS", "$METER_SPEC_PIR_KBPS"},
      {"$METER_SPEC_CIR_PPS", "$METER_SPEC_PIR_PPS"},
      {"$WRED_SPEC_MIN_THRESH_CELLS", "$WRED_SPEC_MAX_THRESH_CELLS"},
  };
  for (const auto& [low, high] : kOrdered) {
    const auto first = get(low), second = get(high);
    if (first && second && *first > *second) return concat(low, " is above ", high);
  }
  for (std::string_view name : {"$LPF_SPEC_GAIN_TIME_CONSTANT_NS", "$LPF_SPEC_DECAY_TIME_CONSTANT_NS",
                                "$WRED_SPEC_TIME_CONSTANT_NS"}) {
    if (const auto time = get(name); time && !(*time >= 0)) return concat(name, " is not a duration");
  }
  if (const auto share = get("$WRED_SPEC_MAX_PROBABILITY"); share && !(*share >= 0 && *share <= 1)) {
    return "$WRED_SPEC_MAX_PROBABILITY is not in 0..1";
  }
  if (const auto shift = get("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR"); shift && *shift > 31) {
    return "$LPF_SPEC_OUT_SCALE_DOWN_FACTOR is above 31";
  }
  return {};
}

}  // namespace l3dml::server
