// Big-endian integers as they lie on the wire. No implicit conversion to or from host integers: `load()` and
// construction are always visible, so a forgotten byte swap does not compile. Alignment 1, trivially
// copyable.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace l3dml::base {

template <typename Int>
constexpr Int swap_bytes(Int value) {
  if constexpr (sizeof(Int) == 1) return value;
  if constexpr (sizeof(Int) == 2) return static_cast<Int>(__builtin_bswap16(value));
  if constexpr (sizeof(Int) == 4) return static_cast<Int>(__builtin_bswap32(value));
  if constexpr (sizeof(Int) == 8) return static_cast<Int>(__builtin_bswap64(value));
}

template <typename Int>
constexpr Int host_to_big(Int value) {
  return std::endian::native == std::endian::little ? swap_bytes(value) : value;
}

template <typename Int>
class BigEndian {
 public:
  BigEndian() = default;
  explicit BigEndian(Int host) { *this = store(host); }

  Int load() const {
    Int raw;
    std::memcpy(&raw, bytes_, sizeof raw);
    return host_to_big(raw);
  }
  static BigEndian store(Int host) {
    BigEndian result;
    const Int raw = host_to_big(host);
    std::memcpy(result.bytes_, &raw, sizeof raw);
    return result;
  }
  void set(Int host) { *this = store(host); }
  const uint8_t* bytes() const { return bytes_; }

  friend bool operator==(const BigEndian& a, const BigEndian& b) {
    return std::memcmp(a.bytes_, b.bytes_, sizeof(Int)) == 0;
  }

 private:
  uint8_t bytes_[sizeof(Int)];
};

using be16_t = BigEndian<uint16_t>;
using be32_t = BigEndian<uint32_t>;
using be64_t = BigEndian<uint64_t>;
static_assert(sizeof(be64_t) == 8 && alignof(be64_t) == 1 && std::is_trivially_copyable_v<be64_t>);

}  // namespace l3dml::base
