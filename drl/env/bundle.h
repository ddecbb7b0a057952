// Files compiled in at build time (topologies, signed-off models), by base name; see drl/embed.py.
#pragma once

#include <span>
#include <string_view>

namespace l3dml::drl {

struct BundledFile {
  std::string_view name;
  std::string_view text;
};

std::span<const BundledFile> bundled_files();

}  // namespace l3dml::drl
