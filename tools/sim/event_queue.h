// The heart of the virtual clock: a 4-ary heap of 16-byte keys, so that the four children of a node share a
// cache line and a pop touches half the lines of a binary heap. Payloads lie in a pool and never move. Ties
// are broken by order of insertion, which makes a run a function of its seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"

namespace l3dml::sim {

template <typename Payload>
class EventQueue {
 public:
  void push(int64_t time_ns, const Payload& payload) {
    uint32_t index;
    if (free_.empty()) {
      index = static_cast<uint32_t>(payloads_.size());
      payloads_.push_back(payload);
    } else {
      index = free_.back();
      free_.pop_back();
      payloads_[index] = payload;
    }
    heap_.push_back({});
    sift_up(heap_.size() - 1, {time_ns, order_++, index});
  }

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  int64_t next_time_ns() const { return heap_.empty() ? base::kNever : heap_[0].time_ns; }

  // The earliest event; the queue must not be empty.
  Payload pop(int64_t* time_ns) {
    const Key top = heap_[0];
    const Key last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
    free_.push_back(top.index);
    *time_ns = top.time_ns;
    return payloads_[top.index];
  }

 private:
  struct Key {
    int64_t time_ns;
    uint32_t order;  // wraps; compared by distance, right while fewer than 2^31 events are queued at once
    uint32_t index;  // into payloads_

    bool before(const Key& other) const {
      if (time_ns != other.time_ns) return time_ns < other.time_ns;
      return static_cast<int32_t>(order - other.order) < 0;
    }
  };
  static constexpr size_t kArity = 4;

  void sift_up(size_t at, const Key& key) {
    while (at > 0) {
      const size_t parent = (at - 1) / kArity;
      if (!key.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = key;
  }
  void sift_down(const Key& key) {
    size_t at = 0;
    for (const size_t count = heap_.size();;) {
      const size_t first = at * kArity + 1;
      if (first >= count) break;
      const size_t end = first + kArity < count ? first + kArity : count;
      size_t least = first;
      for (size_t i = first + 1; i < end; ++i) {
        if (heap_[i].before(heap_[least])) least = i;
      }
      if (!heap_[least].before(key)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = key;
  }

  std::vector<Key> heap_;
  std::vector<Payload> payloads_;
  std::vector<uint32_t> free_;  // indexes of payloads_ without an event
  uint32_t order_ = 0;
};

}  // namespace l3dml::sim
