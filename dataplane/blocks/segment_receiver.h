// Finds holes in the numbering of a segment: p4/segment_receiver.p4, register
// pipe.Ingress.segment_receiver.expected. `expected` is the next sequence number wanted from a neighbour; a
// jump is a hole and is NACKed at once. Numbers below it are repairs that overtook, or duplicates: they
// change nothing here (the slot decides what they are worth).
#pragma once

#include "dataplane/base/mutation.h"
#include "dataplane/base/serial.h"
#include "dataplane/blocks/context.h"
#include "dataplane/tna/register.h"

namespace l3dml::blocks {

class SegmentReceiver {
 public:
  SegmentReceiver(uint32_t segments, const tna::Pass* pass) : expected_(segments, pass), missing_(segments) {}

  // `next`: the sequence number after this packet (UP, DOWN: seq + 1), `first`: the one it carries (SYNC:
  // both are the next that the sender will use).
  Hole receive(uint32_t segment, uint32_t first, uint32_t next) {
    uint32_t& expected = expected_.access(segment);
    Hole hole;
    if (base::serial_newer(first, expected)) {
      hole = {expected, first};
      missing_[segment] += first - expected;
    }
    if (base::serial_newer(next, expected) && !(L3DML_MUTATE(hole_not_closed) && hole.exists()))
      expected = next;
    return hole;
  }

  // A packet with the very number that is expected: what most are.
  bool is_next(uint32_t segment, uint32_t seq) const { return expected_.cell(segment) == seq; }
  void receive_next(uint32_t segment, uint32_t seq) { expected_.access(segment) = seq + 1; }

  void prefetch(uint32_t segment) const { expected_.prefetch(segment); }
  tna::Register<uint32_t>& expected() { return expected_; }
  std::vector<uint64_t>& missing() { return missing_; }  // packets found missing, per segment

 private:
  tna::Register<uint32_t> expected_;
  std::vector<uint64_t> missing_;
};

}  // namespace l3dml::blocks
