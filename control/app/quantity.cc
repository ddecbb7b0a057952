#include "control/app/quantity.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::control {
namespace {

absl::StatusOr<double> parse(std::string_view text,
                             const std::vector<std::pair<std::string_view, double>>& units,
                             const char* example) {
  size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) end = text.size();
  const std::string_view unit = text.substr(end);
  double number = 0;
  if (absl::SimpleAtod(std::string(text.substr(0, end)), &number) && std::isfinite(number))
    for (const auto& [name, factor] : units)
      if (unit == name) return number * factor;
  return absl::InvalidArgumentError(
      absl::StrCat("must be written like ", example, ", not \"", std::string(text), "\""));
}

}  // namespace

absl::StatusOr<double> parse_rate(std::string_view text) {
  return parse(text, {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"", 1}}, "100Mbit");
}

absl::StatusOr<double> parse_duration(std::string_view text) {
  return parse(text, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"", 1}}, "25ms");
}

absl::StatusOr<double> parse_share(std::string_view text) {
  const auto share = parse(text, {{"%", 0.01}, {"", 1}}, "0.1%");
  if (share.ok() && *share > 1) return absl::InvalidArgumentError("must be at most 100%");
  return share;
}

std::string rate_text(double bps) {
  return bps >= 1e9 ? absl::StrFormat("%.2f Gb/s", bps / 1e9) : absl::StrFormat("%.1f Mb/s", bps / 1e6);
}

}  // namespace l3dml::control
