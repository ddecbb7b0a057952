// Joins texts and numbers into one string. The packaged Abseil has a string_view of its own, which
// std::string_view does not convert to; this is the only place that has to know.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace l3dml::server {

template <typename... Args>
std::string concat(const Args&... args) {
  auto adapt = [](const auto& arg) {
    if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, std::string_view>) {
      return absl::string_view(arg.data(), arg.size());
    } else {
      return absl::AlphaNum(arg);
    }
  };
  return absl::StrCat(adapt(args)...);
}

}  // namespace l3dml::server
