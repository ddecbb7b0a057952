// The two directions of the segment between a worker and its aggregator, per shard (DESIGN section 6).
// Packets carry sequence numbers from 0 in each epoch. The sender keeps no packets: seq -> number leads back
// to the tensor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/serial.h"

namespace l3dml::host {

struct Hole {  // sequence numbers [first, end) did not arrive
  uint32_t first = 0, end = 0;
  bool exists() const { return first != end; }
};

class UpSegment {
 public:
  static constexpr unsigned kSyncs = 3;  // after a burst, each after four times the gap before it

  explicit UpSegment(uint32_t entries) : numbers_(entries) {}  // a power of two

  static constexpr uint32_t kFirstRepairs = 64;  // allowed before anything was sent

  // The sequence number of the packet that now carries `number`; `again`: not for the first time.
  uint32_t send(uint32_t number, bool again, int64_t now_ns, int64_t gap_ns) {
    if (!again)
      repairs_allowed_ =
          std::min(repairs_allowed_ + 1, std::max(kFirstRepairs, static_cast<uint32_t>(numbers_.size())));
    numbers_[next_ & mask()] = number;
    ++sent_;
    syncs_left_ = kSyncs;
    gap_ns_ = gap_ns;
    sync_due_ns_ = now_ns + gap_ns;
    return next_++;
  }
  uint32_t next() const { return next_; }
  // Clips a NACKed range to what is still known; false if nothing is left, or if it speaks of what was never
  // sent.
  bool clip(Hole* hole) const {
    if (!base::serial_newer(hole->end, hole->first) || base::serial_newer(hole->end, next_)) return false;
    // As distances from the newest: serial order would take a range that began 2^31 or more before it for a
    // future one.
    const auto known = static_cast<uint32_t>(std::min<uint64_t>(sent_, numbers_.size()));
    if (next_ - hole->end >= known) return false;
    if (next_ - hole->first > known) hole->first = next_ - known;
    return true;
  }
  uint32_t number(uint32_t seq) const { return numbers_[seq & mask()]; }
  // Repairs that NACKs ask for never exceed first transmissions (T7); false: none is left.
  bool take_repair() { return repairs_allowed_ > 0 && repairs_allowed_-- > 0; }

  int64_t sync_due_ns() const { return syncs_left_ ? sync_due_ns_ : base::kNever; }
  void sync_sent(int64_t now_ns) {
    gap_ns_ *= 4;
    sync_due_ns_ = --syncs_left_ ? now_ns + gap_ns_ : base::kNever;
  }
  void no_sync() { syncs_left_ = 0; }  // nothing is awaited

 private:
  uint32_t mask() const { return static_cast<uint32_t>(numbers_.size()) - 1; }

  std::vector<uint32_t> numbers_;  // by seq
  uint64_t sent_ = 0;
  uint32_t repairs_allowed_ = kFirstRepairs;
  uint32_t next_ = 0;
  unsigned syncs_left_ = 0;
  int64_t gap_ns_ = 0, sync_due_ns_ = base::kNever;
};

class DownSegment {
 public:
  // A packet with seq `first` arrived and the one wanted after it is `next` (SYNC: both are the next to be
  // sent).
  Hole receive(uint32_t first, uint32_t next) {
    Hole hole;
    if (base::serial_newer(first, expected_)) hole = {expected_, first};
    if (base::serial_newer(next, expected_)) expected_ = next;
    return hole;
  }

 private:
  uint32_t expected_ = 0;
};

}  // namespace l3dml::host
