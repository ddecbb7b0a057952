#include "control/jobs/buddy.h"

#include <bit>
#include <cassert>

namespace l3dml::control {
namespace {

size_t order_of(uint32_t length) { return static_cast<size_t>(std::countr_zero(length)); }

}  // namespace

Buddy::Buddy(uint32_t size) : free_(order_of(size) + 1), size_(size), free_count_(size) {
  assert(std::has_single_bit(size));
  free_.back().insert(0);
}

std::optional<uint32_t> Buddy::allocate(uint32_t length) {
  assert(std::has_single_bit(length));
  const size_t wanted = order_of(length);
  // The lowest base of the smallest block that fits, so that large blocks stay whole.
  for (size_t order = wanted; order < free_.size(); ++order) {
    if (free_[order].empty()) continue;
    const uint32_t base = *free_[order].begin();
    free_[order].erase(free_[order].begin());
    while (order > wanted) {
      --order;
      free_[order].insert(base + (1u << order));
    }
    free_count_ -= length;
    return base;
  }
  return std::nullopt;
}

bool Buddy::reserve(uint32_t base, uint32_t length) {
  if (!std::has_single_bit(length) || length > size_ || base % length != 0) return false;
  const size_t wanted = order_of(length);
  for (size_t order = wanted; order < free_.size(); ++order) {
    const uint32_t block = base & ~((1u << order) - 1);
    const auto found = free_[order].find(block);
    if (found == free_[order].end()) continue;
    free_[order].erase(found);
    for (uint32_t at = block; order > wanted;) {  // split, keeping the half that holds `base`
      --order;
      const uint32_t upper = at + (1u << order);
      if (base >= upper) {
        free_[order].insert(at);
        at = upper;
      } else {
        free_[order].insert(upper);
      }
    }
    free_count_ -= length;
    return true;
  }
  return false;
}

void Buddy::release(uint32_t base, uint32_t length) {
  free_count_ += length;
  size_t order = order_of(length);
  while (order + 1 < free_.size()) {
    const auto buddy = free_[order].find(base ^ (1u << order));
    if (buddy == free_[order].end()) break;
    free_[order].erase(buddy);
    base &= ~(1u << order);
    ++order;
  }
  free_[order].insert(base);
}

uint32_t Buddy::largest_free() const {
  for (size_t order = free_.size(); order-- > 0;)
    if (!free_[order].empty()) return 1u << order;
  return 0;
}

}  // namespace l3dml::control
