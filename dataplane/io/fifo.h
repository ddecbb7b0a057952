// A queue in one block of memory that doubles when full and never shrinks: no allocation once warm.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace l3dml::io {

template <typename T>
class Fifo {
 public:
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  const T& front() const { return items_[head_ & mask()]; }
  T& front() { return items_[head_ & mask()]; }
  void push(T item) {
    if (size() == items_.size()) grow();
    items_[tail_++ & mask()] = std::move(item);
  }
  T pop() { return std::move(items_[head_++ & mask()]); }

 private:
  size_t mask() const { return items_.size() - 1; }
  void grow() {
    std::vector<T> larger(items_.empty() ? 64 : 2 * items_.size());
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) larger[i] = std::move(items_[(head_ + i) & mask()]);
    items_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> items_;  // a power of two of them
  size_t head_ = 0;       // counts pops
  size_t tail_ = 0;       // counts pushes
};

}  // namespace l3dml::io
