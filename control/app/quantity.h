// Rates, durations and shares as people write them: "100Mbit", "25ms", "0.1%".
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace l3dml::control {

absl::StatusOr<double> parse_rate(std::string_view text);      // bit/s
absl::StatusOr<double> parse_duration(std::string_view text);  // s
absl::StatusOr<double> parse_share(std::string_view text);     // 0..1

std::string rate_text(double bps);  // "94.7 Mb/s"

}  // namespace l3dml::control
