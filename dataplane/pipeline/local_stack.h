// What a switch's CPU would do for its own addresses: ARP and neighbour discovery (answers, and questions
// about next hops whose link-layer address is unknown), ICMP echo, and ICMP errors for packets that cannot be
// forwarded. Answers are rate-limited (policed). Sources: RFC 826, RFC 4861, RFC 4443, RFC 792.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "dataplane/pipeline/program.h"

namespace l3dml::pipeline {

class LocalStack {
 public:
  LocalStack(const Program& program, unsigned pipe, base::PacketPool* pool)
      : program_(program), pipe_(pipe), pool_(pool) {}

  // The link-layer address of an on-link next hop, or null after having asked for it by `port`.
  const wire::MacAddress* resolve6(const wire::Ipv6Address& address, uint16_t port, int64_t now_ns,
                                   Outbox& out);
  const wire::MacAddress* resolve4(uint32_t address, uint16_t port, int64_t now_ns, Outbox& out);

  // Each takes the packet and returns why it was dropped, or none when an answer leaves in `out`.
  base::DropReason arp(base::Packet* packet, int64_t now_ns, Outbox& out);
  base::DropReason neighbor_discovery(base::Packet* packet, int64_t now_ns, Outbox& out);
  base::DropReason local6(base::Packet* packet, int64_t now_ns, Outbox& out);  // sent to an address of ours
  base::DropReason local4(base::Packet* packet, int64_t now_ns, Outbox& out);
  // An ICMP error about `packet` to its source; returns the reason the packet itself is counted under.
  base::DropReason error6(base::Packet* packet, uint8_t type, uint8_t code, base::DropReason reason,
                          int64_t now_ns, Outbox& out);
  base::DropReason error4(base::Packet* packet, uint8_t type, uint8_t code, base::DropReason reason,
                          int64_t now_ns, Outbox& out);

  static bool is_neighbor_discovery(const wire::Head& head, uint32_t size);

 private:
  bool allow(int64_t now_ns);  // one more answer?
  base::DropReason reply(base::Packet* packet, uint16_t port, Outbox& out);

  const Program& program_;
  unsigned pipe_;  // index of the pipe it belongs to
  base::PacketPool* pool_;
  absl::flat_hash_map<wire::Ipv6Address, wire::MacAddress> neighbors6_;
  absl::flat_hash_map<uint32_t, wire::MacAddress> neighbors4_;
  int64_t answers_refilled_ns_ = 0;
  int answers_ = 256;  // token bucket: 256 deep, one each millisecond
};

}  // namespace l3dml::pipeline
