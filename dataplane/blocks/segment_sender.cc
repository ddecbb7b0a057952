#include "dataplane/blocks/segment_sender.h"

#include <algorithm>

#include "dataplane/base/mutation.h"
#include "dataplane/base/serial.h"

namespace l3dml::blocks {

bool SegmentSender::clip(uint32_t index, const Replica& replica, uint32_t* first, uint32_t* end) const {
  const Segment& segment = segments_[index];
  if (!base::serial_newer(*end, *first) || base::serial_newer(*end, segment.tx_seq)) return false;
  const auto known = static_cast<uint32_t>(std::min<uint64_t>(
      segment.sent, L3DML_MUTATE(nack_beyond_the_ring) ? UINT32_MAX : uint64_t{replica.ring_mask} + 1));
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
