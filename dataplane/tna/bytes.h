// Integers from and to the big-endian byte strings that entries carry (bfrt.md: value encoding of BfRuntime).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace l3dml::tna {

inline uint64_t to_uint(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

inline std::string to_bytes(uint64_t value, unsigned width_bits) {
  std::string bytes((width_bits + 7) / 8, '\0');
  for (size_t i = bytes.size(); i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value);
  return bytes;
}

}  // namespace l3dml::tna
