// How device ports are named: the numbering of a Tofino 1 (2-bit pipe, 7-bit port) and front panel names
// "connector/channel". Four channels a connector: device port 0 is 1/0, 4 is 2/0, 128 (pipe 1) is 17/0; the
// CPU port 64 is 33/0 of a two-pipe box as connector 16 * pipes + 1. Pure functions.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace l3dml::server {

struct PortMap {
  unsigned pipes = 4;

  static constexpr uint32_t kPortsPerPipe = 72;  // local ports 0..71
  static constexpr uint32_t kFrontPerPipe = 64;  // the first 64 have connectors
  static constexpr uint32_t kCpuPort = 64;
  static constexpr uint32_t kRecirculationLocal = 68;
  static constexpr uint32_t kChannels = 4;

  bool valid(uint32_t port) const {
    return port < 512 && (port >> 7) < pipes && (port & 0x7f) < kPortsPerPipe;
  }
  bool front(uint32_t port) const { return valid(port) && (port & 0x7f) < kFrontPerPipe; }
  bool internal(uint32_t port) const { return valid(port) && !front(port) && connector(port) == 0; }

  // 1-based; 0: no connector (recirculation and packet generator ports).
  uint32_t connector(uint32_t port) const {
    if (front(port)) return ((port >> 7) * kFrontPerPipe + (port & 0x7f)) / kChannels + 1;
    return port >= kCpuPort && port < kCpuPort + kChannels ? pipes * kFrontPerPipe / kChannels + 1 : 0;
  }
  uint32_t channel(uint32_t port) const { return port % kChannels; }

  std::optional<uint32_t> port_of(uint32_t conn, uint32_t chnl) const {
    if (conn == 0 || chnl >= kChannels) return std::nullopt;
    const uint32_t linear = (conn - 1) * kChannels + chnl;
    if (linear >= pipes * kFrontPerPipe) {
      return conn == pipes * kFrontPerPipe / kChannels + 1 ? std::optional(kCpuPort + chnl) : std::nullopt;
    }
    return linear / kFrontPerPipe << 7 | linear % kFrontPerPipe;
  }

  std::string name(uint32_t port) const {
    const uint32_t conn = connector(port);
    return (conn == 0 ? "-" : std::to_string(conn)) + "/" + std::to_string(channel(port));
  }

  std::optional<uint32_t> port_named(std::string_view name) const {
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    uint32_t conn = 0, chnl = 0;
    const auto first = std::from_chars(name.data(), name.data() + slash, conn);
    const auto last = std::from_chars(name.data() + slash + 1, name.data() + name.size(), chnl);
    if (first.ec != std::errc() || first.ptr != name.data() + slash || last.ec != std::errc() ||
        last.ptr != name.data() + name.size()) {
      return std::nullopt;
    }
    return port_of(conn, chnl);
  }
};

}  // namespace l3dml::server
