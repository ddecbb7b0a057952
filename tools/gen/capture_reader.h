// Frames of a capture file: pcap (micro- and nanosecond, either byte order) and pcapng (little- and
// big-endian, any time resolution; enhanced and simple packet blocks). Ethernet only. Anything malformed is
// an error that names the place; nothing is read beyond the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace l3dml::gen {

struct CapturedFrame {
  int64_t time_ns = 0;     // of the capture's own clock
  uint32_t interface = 0;  // pcapng: in the order of the file, over all its sections
  std::string bytes;
};

absl::StatusOr<std::vector<CapturedFrame>> parse_capture(std::string_view file);
absl::StatusOr<std::vector<CapturedFrame>> read_capture(const std::string& path);

}  // namespace l3dml::gen
