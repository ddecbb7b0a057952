// Quantities as people write them: "100Mbit", "25ms", "64KiB", "0.1%". Plain numbers are bit/s, seconds,
// bytes, 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace l3dml::io {

absl::StatusOr<uint64_t> parse_rate(
    std::string_view text);  // bit/s: bit kbit Mbit Gbit Tbit, optional "/s", or bps
absl::StatusOr<int64_t> parse_duration(std::string_view text);  // ns: ns us ms s min
absl::StatusOr<uint64_t> parse_size(std::string_view text);   // bytes: B kB MB GB (1000), KiB MiB GiB (1024)
absl::StatusOr<double> parse_ratio(std::string_view text);    // 0..1: "0.001" or "0.1%"
absl::StatusOr<uint64_t> parse_count(std::string_view text);  // a whole number, decimal or 0x
absl::StatusOr<bool> parse_bool(std::string_view text);       // true false yes no on off

std::string format_rate(uint64_t bps);  // "100Mbit"

}  // namespace l3dml::io
