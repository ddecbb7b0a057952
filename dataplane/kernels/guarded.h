// For the tests of this folder: an array between guard bytes, at any misalignment; check() says whether they
// survived.
#pragma once

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace l3dml::kernels {

template <typename T>
class Guarded {
 public:
  Guarded(size_t count, size_t misalignment)
      : bytes_(kGuard + misalignment + count * sizeof(T) + kGuard, kPattern),
        begin_(kGuard + misalignment),
        end_(begin_ + count * sizeof(T)) {}
  Guarded(const std::vector<T>& values, size_t misalignment) : Guarded(values.size(), misalignment) {
    if (!values.empty()) std::memcpy(data(), values.data(), values.size() * sizeof(T));
  }

  // Unaligned on purpose: the kernels promise to cope.
  T* data() { return reinterpret_cast<T*>(bytes_.data() + begin_); }
  std::vector<T> values() const {
    std::vector<T> out((end_ - begin_) / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + begin_, end_ - begin_);
    return out;
  }
  void check() const {
    for (size_t i = 0; i < bytes_.size(); ++i)
      ASSERT_TRUE((i >= begin_ && i < end_) || bytes_[i] == kPattern) << "wrote outside, at " << i;
  }

 private:
  static constexpr size_t kGuard = 128;
  static constexpr uint8_t kPattern = 0xa5;
  std::vector<uint8_t> bytes_;
  size_t begin_, end_;
};

// Counts around every step and unrolling of the implementations.
inline const std::vector<size_t> kCounts = {0,  1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31, 32,
                                            33, 47, 63, 64, 65, 95, 127, 128, 192, 255, 256, 320, 321};

}  // namespace l3dml::kernels
