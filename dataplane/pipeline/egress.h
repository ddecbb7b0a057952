// The second half of the pipe: rewrites a packet for its receiver, numbers it, writes lengths. p4/egress.p4.
#pragma once

#include "dataplane/blocks/segment_sender.h"
#include "dataplane/pipeline/program.h"

namespace l3dml::pipeline {

// The fields of an L3DML packet that the ingress chose; the rest comes from the replica entry.
struct Outgoing {
  wire::Type type = wire::Type::up;
  uint8_t flags = 0;
  uint16_t job = 0;
  uint8_t epoch = 0;
  uint16_t tag = 0;
  uint32_t number = 0;
  uint8_t exp = 0;
  uint8_t next_exp = 0;
  uint16_t weight = 0;
  uint32_t seq = 0;  // NACK and SYNC only: UP and DOWN are numbered here
  bool repair = false;
};

class Egress {
 public:
  Egress(const Program& program, blocks::SegmentSender* sender, Outbox** out, uint64_t* drops)
      : program_(program), sender_(*sender), out_(out), drops_(drops) {}

  // Sends `packet`, whose lanes (if any) already lie at data + 86 or in its tail, to a neighbour by a port.
  // Takes it.
  void send(base::Packet* packet, uint32_t lane_bytes, uint16_t neighbor, uint8_t shard, uint32_t segment,
            uint16_t port, const Outgoing& fields, int64_t now_ns);

 private:
  const Program& program_;
  blocks::SegmentSender& sender_;
  Outbox** out_;     // of the burst in hand
  uint64_t* drops_;  // by reason
};

}  // namespace l3dml::pipeline
