// What leaves a pipe for other reasons than a packet's own way: copies by mirror session, and what the packet
// generator makes.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/pipeline/pipe.h"
#include "dataplane/tna/traffic_manager.h"

namespace l3dml::pipeline {

using base::DropReason;
using base::Packet;

void PipeImpl::mirror(Context& ctx, Packet* packet, uint16_t neighbor, uint16_t port,
                      const Outgoing& fields) {
  constexpr size_t kMirrorHeader = 7;  // mirror_h of p4/headers.p4
  const auto send = [&](Packet* copy, uint16_t to, uint16_t by) {
    egress_.send(copy, 0, to, ctx.parsed.shard, ctx.segment, by, fields, ctx.now_ns);
  };
  const auto sid = static_cast<uint16_t>(blocks::kMirrorSession + port);
  if (!program_.mirrors.exists(sid)) return send(packet, neighbor, port);  // nobody has said anything else
  const tna::MirrorSession* session = program_.mirrors.find(sid, tna::Gress::ingress);
  if (session == nullptr) return discard(packet);
  if (tna::MirrorTable::copy_size(*session, kMirrorHeader, wire::kHeadSize) < kMirrorHeader + wire::kHeadSize)
    return drop(packet, DropReason::truncated);  // egress would not find the headers
  Packet* next = packet;
  const tna::TrafficManager manager(program_.multicast, base::kCpuPort);
  manager.forward(tna::MirrorTable::destination(*session), {}, false, [&](const tna::TmCopy& copy) {
    if (next == nullptr && (next = pool_->alloc()) == nullptr) return count(DropReason::no_buffer);
    const uint16_t rid = copy.egress.egress_rid;
    send(std::exchange(next, nullptr), rid != 0 ? rid : neighbor, copy.egress.egress_port);
  });
  if (next != nullptr) discard(next);
}

// What the generator makes enters by the port it is said to come from, like any packet. A controller lets it
// number as many packets as `generated` has rows: those that stand for nothing are not worth a buffer.
void PipeImpl::generate(int64_t now_ns, Outbox& out) {
  constexpr unsigned kLooks = 1024;  // at one go, so that an idle switch is not awake once a burst for nothing
  std::array<Packet*, base::kBurst> burst;
  size_t made = 0;
  const auto make = [&](uint16_t port, std::string_view bytes) {
    const auto* head = reinterpret_cast<const uint8_t*>(bytes.data());
    if (port % base::kPortsPerPipe == base::kRecirculationPort &&
        program_.generated.lookup(static_cast<uint16_t>(head[4] << 8 | head[5])) == nullptr)
      return;
    Packet* packet = pool_->alloc();
    if (packet == nullptr) return count(DropReason::no_buffer);
    if (packet->data + bytes.size() > packet->buffer + packet->capacity)
      return drop(packet, DropReason::no_buffer);
    std::memcpy(packet->data, bytes.data(), bytes.size());
    packet->size = static_cast<uint32_t>(bytes.size());
    packet->port = port;
    packet->time_ns = now_ns;
    burst[made++] = packet;
  };
  for (unsigned looked = 0; made < burst.size() && looked < kLooks && generation_.next_deadline_ns() <= now_ns;)
    looked += generation_.tick(now_ns, static_cast<unsigned>(burst.size() - made), make);
  process({burst.data(), made}, now_ns, out);
}

// The first byte tells what lies in front of the frame: the generator's header is below 0x80. Its number says
// for which segment the packet speaks; the rest of it is only a form that a chip fills in.
bool PipeImpl::speak_for(Context& ctx) {
  Packet* packet = ctx.packet;
  const uint8_t* head = packet->data;
  if (packet->size < sizeof(uint32_t) || packet->tail != nullptr) return false;
  base::be32_t first_bits;
  std::memcpy(&first_bits, head, sizeof first_bits);
  generation_.recirculated(first_bits.load(), ctx.now_ns);
  if (head[0] & 0x80) return false;
  if (packet->size < tna::PacketGenerator::kHeaderBytes) return drop(packet, DropReason::truncated), true;
  const auto number = static_cast<uint16_t>(head[4] << 8 | head[5]);
  const blocks::Generated* row = program_.generated.lookup(number);
  if (ctx.trace) [[unlikely]]
    ctx.trace->line(ctx.id, "Ingress.admission.generated",
                    row ? absl::StrCat("hit, neighbor ", row->neighbor) : "miss");
  if (row == nullptr) return drop(packet, DropReason::unknown_job), true;
  const uint32_t shards = program_.config.shards_per_pipe;
  const uint32_t segment = row->neighbor * shards + row->shard / program_.config.pipes;
  if (segment >= sender_.size()) return drop(packet, DropReason::unknown_replica), true;
  Outgoing fields;
  fields.type = wire::Type::sync;
  fields.flags = row->flags;
  fields.job = row->job;
  fields.epoch = row->epoch;
  fields.seq = sender_.tx_seq(segment);
  egress_.send(packet, 0, row->neighbor, row->shard, segment, row->port, fields, ctx.now_ns);
  return true;
}

}  // namespace l3dml::pipeline
