#include "dataplane/io/units.h"

#include <charconv>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::io {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

absl::Status unreadable(std::string_view text, std::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text), "\" is not ", std::string(want)));
}

absl::StatusOr<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                                      std::string_view want) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return unreadable(text, want);
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  if (suffix.empty()) return number;
  for (const Unit& unit : units)
    if (unit.name == suffix) return number * unit.factor;
  return unreadable(text, want);
}

}  // namespace

absl::StatusOr<uint64_t> parse_rate(std::string_view text) {
  static constexpr Unit kUnits[] = {{"bit", 1},     {"bps", 1},    {"kbit", 1e3}, {"kbps", 1e3},
                                    {"Mbit", 1e6},  {"Mbps", 1e6}, {"Gbit", 1e9}, {"Gbps", 1e9},
                                    {"Tbit", 1e12}, {"Tbps", 1e12}};
  std::string_view plain = text;
  if (plain.ends_with("/s")) plain.remove_suffix(2);
  const auto value = parse_quantity(plain, kUnits, "a rate like 100Mbit or 2.5Gbit");
  if (!value.ok()) return value.status();
  if (*value > 1e15) return unreadable(text, "a rate below 1000 Tbit");
  return static_cast<uint64_t>(std::llround(*value));
}

absl::StatusOr<int64_t> parse_duration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                    {"s", 1},     {"min", 60},  {"h", 3600}};
  const auto value = parse_quantity(text, kUnits, "a time like 25ms or 1.5s");
  if (!value.ok()) return value.status();
  if (*value > 1e9) return unreadable(text, "a time below 30 years");
  return std::llround(*value * 1e9);
}

absl::StatusOr<uint64_t> parse_size(std::string_view text) {
  static constexpr Unit kUnits[] = {{"B", 1},
                                    {"kB", 1e3},
                                    {"MB", 1e6},
                                    {"GB", 1e9},
                                    {"KiB", 1024},
                                    {"MiB", 1024 * 1024},
                                    {"GiB", 1024.0 * 1024 * 1024}};
  const auto value = parse_quantity(text, kUnits, "a size like 256KiB or 1MB");
  if (!value.ok()) return value.status();
  if (*value > 1e15) return unreadable(text, "a size below 1000 TB");
  return static_cast<uint64_t>(std::llround(*value));
}

absl::StatusOr<double> parse_ratio(std::string_view text) {
  static constexpr Unit kUnits[] = {{"%", 0.01}};
  const auto value = parse_quantity(text, kUnits, "a share like 0.1% or 0.001");
  if (!value.ok()) return value.status();
  if (*value > 1) return unreadable(text, "a share between 0 and 1 (or 0% and 100%)");
  return *value;
}

absl::StatusOr<uint64_t> parse_count(std::string_view text) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  uint64_t value = 0;
  const auto [rest, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || rest != digits.data() + digits.size())
    return unreadable(text, "a whole number");
  return value;
}

absl::StatusOr<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return unreadable(text, "true or false");
}

std::string format_rate(uint64_t bps) {
  static constexpr Unit kUnits[] = {{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}};
  for (const Unit& unit : kUnits)
    if (static_cast<double>(bps) >= unit.factor)
      return absl::StrFormat("%g%s", static_cast<double>(bps) / unit.factor, std::string(unit.name));
  return absl::StrCat(bps, "bit");
}

}  // namespace l3dml::io
