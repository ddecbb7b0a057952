#include "dataplane/blocks/segment_sender.h"

#include <algorithm>

#include "dataplane/base/serial.h"

namespace l3dml::blocks {

uint32_t SegmentSender::send(uint32_t index, const Replica& replica, uint32_t number, bool repair,
                             const Last& last, int64_t now_ns) {
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
  segment.syncs_left = kSyncs;
  segment.due_ns = now_ns + sync_idle_ns_;
  if (!segment.listed) {
    segment.listed = true;
    waiting_.push_back(index);
    next_due_ns_ = std::min(next_due_ns_, segment.due_ns);
  }
  return seq;
}

bool SegmentSender::clip(uint32_t index, const Replica& replica, uint32_t* first, uint32_t* end) const {
  const Segment& segment = segments_[index];
  if (!base::serial_newer(*end, *first) || base::serial_newer(*end, segment.tx_seq)) return false;
  const auto known = static_cast<uint32_t>(std::min<uint64_t>(segment.sent, uint64_t{replica.ring_mask} + 1));
  // As distances from the newest: serial order would take a range that began 2^31 or more before it for a
  // future one.
  if (segment.tx_seq - *end >= known) return false;
  if (segment.tx_seq - *first > known) *first = segment.tx_seq - known;
  return true;
}

void SegmentSender::set_tx_seq(uint32_t index, uint32_t seq) {
  Segment& segment = segments_[index];
  const uint64_t repairs = segment.repairs;
  const bool listed = segment.listed;
  segment = {};
  segment.tx_seq = seq;
  segment.repairs = repairs;
  segment.listed = listed;  // leaves waiting_ at the next tick
}

}  // namespace l3dml::blocks
