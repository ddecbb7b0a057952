// Port metadata: 64 bits per ingress port that a parser gets with each packet ($PORT_METADATA). Written at
// quiescence.
#pragma once

#include <array>
#include <cstdint>

namespace l3dml::tna {

class PortMetadata {
 public:
  static constexpr uint16_t kPorts = 512;
  bool set(uint16_t port, uint64_t value) {
    if (port >= kPorts) return false;
    values_[port] = value;
    return true;
  }
  uint64_t get(uint16_t port) const { return port < kPorts ? values_[port] : 0; }

 private:
  std::array<uint64_t, kPorts> values_{};
};

}  // namespace l3dml::tna
