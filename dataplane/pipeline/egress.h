// The second half of the pipe: rewrites a packet for its receiver, numbers it, writes lengths. p4/egress.p4.
#pragma once

#include <cstring>

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

// What all heads of one result have in common, in wire order, worked out once: DOWN of a number that is sent
// for the first time.
struct ResultHeads {
  ResultHeads(const Outgoing& fields, uint8_t shard_of, uint32_t lane_bytes_of)
      : number(fields.number),
        lane_bytes(lane_bytes_of),
        shard(shard_of),
        last{0, 0, fields.job, fields.epoch, shard_of, true},
        udp_length(static_cast<uint16_t>(wire::kUdpSize + wire::kL3dmlSize + lane_bytes_of)),
        first_word(uint64_t{wire::kVersion << 4 | static_cast<uint8_t>(wire::Type::down)} << 56 |
                   uint64_t{fields.flags} << 48 | uint64_t{fields.job} << 32 | uint64_t{fields.epoch} << 24 |
                   fields.tag),
        last_word(uint64_t{fields.exp} << 56 | uint64_t{fields.next_exp} << 48 |
                  uint64_t{fields.weight} << 32) {}
  uint32_t number, lane_bytes;
  uint8_t shard;
  blocks::SegmentSender::Last last;
  base::be16_t udp_length;
  uint64_t first_word, last_word;  // host order, without child and seq
};

class Egress {
 public:
  Egress(const Program& program, blocks::SegmentSender* sender, Outbox** out, uint64_t* drops)
      : program_(program), sender_(*sender), out_(out), drops_(drops) {}

  // Sends `packet`, whose lanes (if any) already lie at data + 86 or in its tail, to a neighbour by a port.
  // Takes it.
  void send(base::Packet* packet, uint32_t lane_bytes, uint16_t neighbor, uint8_t shard, uint32_t segment,
            uint16_t port, const Outgoing& fields, int64_t now_ns) {
    const blocks::Replica* replica = program_.replica.lookup(neighbor, shard);
    const bool port_up = port < program_.ports.size() && program_.ports[port].up;
    if (!replica || !port_up) [[unlikely]]
      return refuse(packet, replica ? base::DropReason::port_down : base::DropReason::unknown_replica);
    uint32_t seq = fields.seq;
    if (fields.type == wire::Type::up || fields.type == wire::Type::down)
      seq = sender_.send(segment, *replica, fields.number, fields.repair,
                         {0, 0, fields.job, fields.epoch, shard, fields.type == wire::Type::down}, neighbor,
                         port, now_ns);
    write_head(packet->data, *replica, lane_bytes, fields, seq);
    packet->size = static_cast<uint32_t>(wire::kHeadSize + (packet->tail ? 0 : lane_bytes));
    packet->wants_checksum = program_.ports[port].checksum;
    (*out_)->send(packet, port);
  }

  // Sends one head of a result whose lanes are in its tail. Takes it.
  [[gnu::always_inline]] void send_result(base::Packet* packet, const ResultHeads& heads, uint16_t neighbor,
                                          uint32_t segment, uint16_t port, int64_t now_ns) {
    const blocks::Replica* replica = program_.replica.lookup(neighbor, heads.shard);
    const bool port_up = port < program_.ports.size() && program_.ports[port].up;
    if (!replica || !port_up) [[unlikely]]
      return refuse(packet, replica ? base::DropReason::port_down : base::DropReason::unknown_replica);
    const uint32_t seq =
        sender_.send(segment, *replica, heads.number, false, heads.last, neighbor, port, now_ns);
    uint8_t* const data = packet->data;
    constexpr size_t kBefore = wire::kHeadSize - wire::kL3dmlSize;
    std::memcpy(data, &replica->head, kBefore);
    auto& head = *reinterpret_cast<wire::Head*>(data);
    head.udp.length = head.ipv6.payload_length = heads.udp_length;
    put64(data + kBefore, heads.first_word | uint64_t{replica->head.l3dml.child} << 16);
    put64(data + kBefore + 8, uint64_t{replica->slot(heads.number)} << 32 | heads.number);
    put64(data + kBefore + 16, heads.last_word | seq);
    packet->size = static_cast<uint32_t>(wire::kHeadSize);
    packet->wants_checksum = program_.ports[port].checksum;
    (*out_)->send(packet, port);
  }

 private:
  // The L3DML header goes out as three words: twelve small stores would cost more than all the rest.
  static void write_head(uint8_t* data, const blocks::Replica& replica, uint32_t lane_bytes,
                         const Outgoing& fields, uint32_t seq) {
    constexpr size_t kBefore = wire::kHeadSize - wire::kL3dmlSize;
    std::memcpy(data, &replica.head, kBefore);
    auto& head = *reinterpret_cast<wire::Head*>(data);
    const base::be16_t udp_length(static_cast<uint16_t>(wire::kUdpSize + wire::kL3dmlSize + lane_bytes));
    head.udp.length = udp_length;
    head.ipv6.payload_length = udp_length;
    const uint64_t version_type = wire::kVersion << 4 | static_cast<uint8_t>(fields.type);
    put64(data + kBefore, version_type << 56 | uint64_t{fields.flags} << 48 | uint64_t{fields.job} << 32 |
                              uint64_t{fields.epoch} << 24 | uint64_t{replica.head.l3dml.child} << 16 |
                              fields.tag);
    put64(data + kBefore + 8, uint64_t{replica.slot(fields.number)} << 32 | fields.number);
    put64(data + kBefore + 16,
          uint64_t{fields.exp} << 56 | uint64_t{fields.next_exp} << 48 | uint64_t{fields.weight} << 32 | seq);
    static_assert(wire::kL3dmlSize == 24);
  }
  static void put64(uint8_t* data, uint64_t value) {
    const base::be64_t big(value);
    std::memcpy(data, &big, sizeof big);
  }
  [[gnu::cold]] void refuse(base::Packet* packet, base::DropReason reason) {
    ++drops_[static_cast<size_t>(reason)];
    base::release(packet);
  }

  const Program& program_;
  blocks::SegmentSender& sender_;
  Outbox** out_;     // of the burst in hand
  uint64_t* drops_;  // by reason
};

}  // namespace l3dml::pipeline
