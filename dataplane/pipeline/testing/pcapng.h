// Captures of golden cases: pcapng with one interface per device port, named "port N", nanosecond times.
// Reads what it writes and what dataplane/testdata/maker writes; both write the same bytes for the same
// packets. Errors throw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace l3dml::pipeline::testing {

struct Captured {
  uint16_t port = 0;
  int64_t time_ns = 0;
  std::string frame;
  friend bool operator==(const Captured&, const Captured&) = default;
};

std::string to_pcapng(const std::vector<Captured>& packets);
std::vector<Captured> from_pcapng(std::string_view file);

}  // namespace l3dml::pipeline::testing
