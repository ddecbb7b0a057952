// Buddy allocator over 0..size-1: power-of-two ranges, aligned to their own length, as rings of slots must
// be. A plain value without storage of its own in the device; the controller rebuilds it from the store with
// reserve().
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace l3dml::control {

class Buddy {
 public:
  explicit Buddy(uint32_t size);  // a power of two, at least 1

  std::optional<uint32_t> allocate(uint32_t length);  // length: a power of two; lowest fit, nothing if none
  bool reserve(uint32_t base, uint32_t length);       // false: not aligned, or part of it is taken
  void release(uint32_t base, uint32_t length);       // exactly what was allocated

  uint32_t size() const { return size_; }
  uint32_t free_count() const { return free_count_; }
  uint32_t largest_free() const;  // 0: full

 private:
  std::vector<std::set<uint32_t>> free_;  // by log2(length): bases
  uint32_t size_;
  uint32_t free_count_;
};

}  // namespace l3dml::control
