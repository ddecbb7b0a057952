// Numbers what leaves on a segment and remembers which slot each sequence number spoke of:
// p4/segment_sender.p4, registers pipe.Egress.segment_sender.{tx_seq,ring}. No copies are kept: the ring
// leads back to the slot, the slot is the retransmit buffer. A segment that falls quiet sends SYNC, so that
// the tail of a burst is repaired without a timer at the receiver; on the chip SYNCs come from the packet
// generator.
#pragma once

#include <algorithm>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/mutation.h"
#include "dataplane/blocks/replica.h"
#include "dataplane/tna/register.h"

namespace l3dml::blocks {

class SegmentSender {
 public:
  // What the last packet on the segment was: a SYNC repeats it.
  struct Last {
    uint16_t neighbor = 0;
    uint16_t port = 0;
    uint16_t job = 0;
    uint8_t epoch = 0;
    uint8_t shard = 0;
    bool down = false;  // the segment leads to a child
  };

  SegmentSender(uint32_t segments, uint32_t ring_entries, int64_t sync_idle_ns)
      : sync_idle_ns_(sync_idle_ns), segments_(segments), ring_(ring_entries) {}

  // The sequence number of a packet that carries `number`. A repair spends one of the repairs that earlier
  // first transmissions allowed; may_repair() says whether one is left.
  // `last`: but for neighbor and port.
  uint32_t send(uint32_t index, const Replica& replica, uint32_t number, bool repair, const Last& last,
                uint16_t neighbor, uint16_t port, int64_t now_ns) {
    Segment& segment = segments_[index];
    const uint32_t seq = segment.tx_seq++;
    ring_[replica.ring_base + (seq & replica.ring_mask)] = number;
    ++segment.sent;
    if (repair) {
      ++segment.repairs;
      --segment.repairs_allowed;
    } else {
      segment.repairs_allowed =
          std::min(segment.repairs_allowed + 1, std::max(kFirstRepairs, replica.ring_mask + 1));
    }
    segment.last = last;
    segment.last.neighbor = neighbor, segment.last.port = port;
    segment.syncs_left = kSyncs;
    segment.due_ns = now_ns + sync_idle_ns_;
    if (!segment.listed) {
      segment.listed = true;
      waiting_.push_back(index);
      next_due_ns_ = std::min(next_due_ns_, segment.due_ns);
    }
    return seq;
  }
  void prefetch(uint32_t segment) const { __builtin_prefetch(&segments_[segment], 1); }
  bool may_repair(uint32_t segment) const {
    return segments_[segment].repairs_allowed > 0 || L3DML_MUTATE(repairs_without_ration);
  }

  // Clips a NACKed range [*first, *end) to what the ring still knows; false if nothing is left of it.
  bool clip(uint32_t segment, const Replica& replica, uint32_t* first, uint32_t* end) const;
  uint32_t number(const Replica& replica, uint32_t seq) const {
    return ring_[replica.ring_base + (seq & replica.ring_mask)];
  }

  // Calls function(last, next seq) for each segment whose SYNC is due.
  template <typename Function>
  void tick(int64_t now_ns, Function function);
  int64_t next_deadline_ns() const { return next_due_ns_; }

  uint32_t tx_seq(uint32_t segment) const { return segments_[segment].tx_seq; }
  void set_tx_seq(uint32_t segment, uint32_t seq);  // control: also forgets what was sent before
  uint32_t& ring(uint32_t index) { return ring_[index]; }
  uint32_t ring_size() const { return static_cast<uint32_t>(ring_.size()); }
  uint32_t size() const { return static_cast<uint32_t>(segments_.size()); }
  uint64_t& repairs(uint32_t segment) { return segments_[segment].repairs; }

 private:
  static constexpr unsigned kSyncs = 3;  // sent after a burst, each after four times the gap before it
  static constexpr uint32_t kFirstRepairs = 64;  // allowed before anything was sent

  struct alignas(64) Segment {
    uint32_t tx_seq = 0;
    uint32_t repairs_allowed = kFirstRepairs;
    uint64_t sent = 0;  // packets since the epoch began
    uint64_t repairs = 0;
    int64_t due_ns = 0;  // when the next SYNC goes out, if nothing is sent before
    uint8_t syncs_left = 0;
    bool listed = false;  // in waiting_
    Last last;
  };

  int64_t sync_idle_ns_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> ring_;     // number by sequence number
  std::vector<uint32_t> waiting_;  // segments with a SYNC to come
  int64_t next_due_ns_ = base::kNever;
};

template <typename Function>
void SegmentSender::tick(int64_t now_ns, Function function) {
  if (now_ns < next_due_ns_) return;
  next_due_ns_ = base::kNever;
  for (size_t i = 0; i < waiting_.size();) {
    Segment& segment = segments_[waiting_[i]];
    if (segment.syncs_left && segment.due_ns <= now_ns) {
      --segment.syncs_left;
      segment.due_ns = now_ns + (sync_idle_ns_ << 2 * (kSyncs - segment.syncs_left));
      function(segment.last, segment.tx_seq);
    }
    if (segment.syncs_left == 0) {
      segment.listed = false;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    } else {
      next_due_ns_ = std::min(next_due_ns_, segment.due_ns);
      ++i;
    }
  }
}

}  // namespace l3dml::blocks
