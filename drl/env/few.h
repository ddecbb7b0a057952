// A vector of at most `kMost` plain values that lives in place: trees are copied by the thousand while a
// decision is made, and none of that should allocate. More than fit is a bug of the caller.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace l3dml::drl {

template <typename T, size_t kMost>
class Few {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Few() = default;
  Few(std::initializer_list<T> values) {
    for (const T& v : values) push_back(v);
  }
  Few(const Few& other) : count_(other.count_) {
    std::copy_n(other.values_.begin(), count_, values_.begin());
  }
  Few& operator=(const Few& other) {
    count_ = other.count_;
    std::copy_n(other.values_.begin(), count_, values_.begin());
    return *this;
  }

  void push_back(const T& value) {
    assert(count_ < kMost);
    values_[count_++] = value;
  }
  void insert(T* place, const T& value) {
    assert(count_ < kMost);
    std::copy_backward(place, end(), end() + 1);
    *place = value;
    ++count_;
  }
  void resize(size_t count) {
    assert(count <= kMost);
    std::fill(values_.begin() + std::min<size_t>(count_, count), values_.begin() + count, T{});
    count_ = static_cast<uint32_t>(count);
  }
  void clear() { count_ = 0; }

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + count_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + count_; }
  bool operator==(const Few& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  uint32_t count_ = 0;
  std::array<T, kMost> values_;  // those beyond count_ mean nothing
};

}  // namespace l3dml::drl
