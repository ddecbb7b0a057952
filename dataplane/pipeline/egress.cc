#include "dataplane/pipeline/egress.h"

#include <cstring>

namespace l3dml::pipeline {

using base::DropReason;
using wire::Type;

void Egress::send(base::Packet* packet, uint32_t lane_bytes, uint16_t neighbor, uint8_t shard,
                  uint32_t segment, uint16_t port, const Outgoing& fields, int64_t now_ns) {
  const blocks::Replica* replica = program_.replica.lookup(neighbor, shard);
  const bool port_up = port < program_.ports.size() && program_.ports[port].up;
  if (!replica || !port_up) {
    ++drops_[static_cast<size_t>(replica ? DropReason::port_down : DropReason::unknown_replica)];
    base::release(packet);
    return;
  }
  wire::Head& head = *reinterpret_cast<wire::Head*>(packet->data);
  std::memcpy(&head, &replica->head, sizeof head);
  wire::L3dmlHeader& h = head.l3dml;
  h.set_type(fields.type);
  h.flags = fields.flags;
  h.job.set(fields.job);
  h.epoch = fields.epoch;
  h.tag.set(fields.tag);
  h.slot.set(replica->slot(fields.number));
  h.number.set(fields.number);
  h.exp = fields.exp;
  h.next_exp = fields.next_exp;
  h.weight.set(fields.weight);
  uint32_t seq = fields.seq;
  if (fields.type == Type::up || fields.type == Type::down)
    seq = sender_.send(segment, *replica, fields.number, fields.repair,
                       {neighbor, port, fields.job, fields.epoch, shard, fields.type == Type::down}, now_ns);
  h.seq.set(seq);
  const auto udp_length = static_cast<uint16_t>(wire::kUdpSize + wire::kL3dmlSize + lane_bytes);
  head.udp.length.set(udp_length);
  head.ipv6.payload_length.set(udp_length);
  packet->size = static_cast<uint32_t>(wire::kHeadSize + (packet->tail ? 0 : lane_bytes));
  packet->wants_checksum = program_.ports[port].checksum;
  (*out_)->send(packet, port);
}

}  // namespace l3dml::pipeline
