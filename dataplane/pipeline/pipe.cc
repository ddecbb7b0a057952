#include "dataplane/pipeline/pipe.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/mutation.h"
#include "dataplane/wire/address.h"

namespace l3dml::pipeline {
namespace {

using base::DropReason;
using base::Packet;
using blocks::Context;
using blocks::Hole;
using blocks::Route;
using wire::Type;

constexpr size_t kManyFlows = 256;  // what so many need for each packet does not stay in the first caches
constexpr uint8_t kUnreachable6 = 1, kTimeExceeded6 = 3, kUnreachable4 = 3, kTimeExceeded4 = 11;

bool for_us(const wire::EthernetHeader& ethernet, const wire::MacAddress& mac) {
  return (ethernet.dst_addr[0] & 1) || ethernet.dst_addr == mac;
}

}  // namespace

PipeImpl::PipeImpl(const Program& program, unsigned index, base::PacketPool* pool)
    : program_(program),
      index_(index),
      pool_(pool),
      state_(program.config, &pass_),
      ingress_(program, index, &state_),
      sender_(program.config.neighbors * program.config.shards_per_pipe, program.config.ring_entries,
              program.config.sync_idle_ns),
      generation_(index),
      flows_(program.config.neighbors * program.config.shards_per_pipe, index),
      egress_(program, &sender_, &out_, drops_.data()),
      local_stack_(program, index, pool) {}

void PipeImpl::set_trace(base::TraceSink* sink, std::function<bool(const Packet&)> filter) {
  trace_ = sink;
  trace_filter_ = std::move(filter);
}

// A burst goes through each step together, so that the memory of one packet arrives while others are worked
// on. Lanes are too large for that: they are fetched kAhead packets before they are needed.
void PipeImpl::process(std::span<Packet* const> burst, int64_t now_ns, Outbox& out) {
  out_ = &out;
  for (const Packet* packet : burst) __builtin_prefetch(packet, 1);
  for (const Packet* packet : burst) {
    __builtin_prefetch(packet->data, 1);
    __builtin_prefetch(packet->data + 64, 1);
  }
  if (flows_.used() >= kManyFlows)
    for (const Packet* packet : burst)
      if (packet->size >= wire::kHeadSize && known_jobs_.knows(FlowKey::job(packet->data)))
        flows_.prefetch(FlowKey::of(packet->data, packet->port));
  size_t gradients = 0;
  const bool tracing = trace_ != nullptr;
  for (Packet* const& packet : burst) {
    const bool traced = tracing && (!trace_filter_ || trace_filter_(*packet));
    if (!traced && recognise(packet, &arrivals_[gradients])) [[likely]] {
      ++gradients;
      continue;
    }
    Context& ctx = contexts_[gradients];
    begin(packet, now_ns, ctx);
    ctx.id = packets_ + static_cast<uint64_t>(&packet - burst.data()) + 1;
    if (traced) [[unlikely]]
      ctx.trace = trace_;
    arrivals_[gradients] = {packet, nullptr, 0, 0};
    if (classify(ctx)) ++gradients;
  }
  packets_ += burst.size();
  constexpr size_t kAhead = 3;
  for (size_t i = 0; i < std::min(kAhead, gradients); ++i) fetch(i);
  for (size_t i = 0; i < gradients; ++i) {
    if (i + kAhead < gradients) fetch(i + kAhead);
    pass_.open();
    if (arrivals_[i].flow) {
      if (express(arrivals_[i], now_ns)) continue;
      describe(arrivals_[i], now_ns, contexts_[i]);
    }
    handle(contexts_[i]);
  }
  release_discarded();
  for (; new_flow_count_ != 0; --new_flow_count_) flows_.insert(new_flows_[new_flow_count_ - 1]);
}

void PipeImpl::begin(Packet* packet, int64_t now_ns, Context& ctx) const {
  ctx = {};
  ctx.packet = packet;
  ctx.head = reinterpret_cast<wire::Head*>(packet->data);
  ctx.now_ns = now_ns;
  packet->has_sum = packet->wants_checksum = false;
}

// The lanes of the packet and of its slot; where there are many flows, also what the result will need.
inline void PipeImpl::fetch(size_t index) const {
  const Arrival& arrival = arrivals_[index];
  const Flow* const flow = arrival.flow;
  const Context& ctx = contexts_[index];
  if (!flow && (ctx.reason != DropReason::none || !ctx.has_lanes())) return;
  const uint32_t size = 4 * (flow ? flow->job.lanes : ctx.job->lanes), slot = flow ? arrival.slot : ctx.slot;
  const uint8_t* const from = flow ? arrival.packet->data + wire::kHeadSize : ctx.parsed.lanes;
  const auto* const to = reinterpret_cast<const uint8_t*>(state_.aggregator.lanes(slot));
  for (uint32_t i = 0; i < size;
       i += 256)  // lanes come by 64; the first line of the packet's is here already
    for (uint32_t k = i; k < i + 256; k += 64) {
      __builtin_prefetch(to + k, 1);
      __builtin_prefetch(from + k + 64);
    }
  if (!flow || flows_.used() < kManyFlows || state_.slot_state.cell(slot).count != 1) return;
  for (const tna::Multicast::Replica& replica : program_.multicast.plain(flow->admit.mgid)) {
    program_.replica.prefetch(replica.rid, flow->shard);
    sender_.prefetch(replica.rid * state_.shards_per_pipe + flow->local_shard);
  }
}

inline bool PipeImpl::recognise(Packet* packet, Arrival* arrival) {
  if (packet->size < wire::kHeadSize || packet->tail) return false;
  const FlowKey key = FlowKey::of(packet->data, packet->port);
  Flow* flow = flows_.find_recent(key);
  if (!flow) {
    if (known_jobs_.knows(FlowKey::job(packet->data))) flow = flows_.find(key);
    if (!flow) return false;
  }
  const wire::Head& head = *reinterpret_cast<const wire::Head*>(packet->data);
  const blocks::Job& job = flow->job;
  const uint32_t number = head.l3dml.number.load();
  const uint32_t slot = job.slot_base + ((number >> job.shard_shift) & job.ring_mask);
  if (packet->size != flow->frame_size() || !(head.udp.length == head.ipv6.payload_length) ||
      head.l3dml.slot.load() != slot || (number & ((1u << job.shard_shift) - 1)) != flow->shard)
    return false;
  ++flow->packets;
  const uint32_t index =
      slot * state_.shards_per_pipe + (L3DML_MUTATE(shards_share_slots) ? 0 : flow->local_shard);
  *arrival = {packet, flow, number, index};
  state_.segment_receiver.prefetch(flow->segment);
  state_.slot_state.prefetch(index);
  return true;
}

void PipeImpl::describe(const Arrival& arrival, int64_t now_ns, Context& ctx) {
  Flow& flow = *arrival.flow;
  begin(arrival.packet, now_ns, ctx);
  ctx.parsed.kind = wire::Kind::l3dml;
  ctx.parsed.ce = (ctx.head->ipv6.version_class_flow.load() >> 20 & 3) == 3;
  ctx.parsed.lanes = arrival.packet->data + wire::kHeadSize;
  ctx.parsed.lane_count = flow.job.lanes;
  ctx.parsed.shard = flow.shard;
  ctx.admit = &flow.admit;
  ctx.job = &flow.job;
  ctx.number = arrival.number;
  ctx.local_shard = flow.local_shard;
  ctx.slot = arrival.slot;
  ctx.segment = flow.segment;
}

// What recognise() may answer the next time: a gradient with all its lanes whose every slot is admitted
// alike. Kept until the end of the burst, since it may take the place of a flow that a context of this burst
// points to.
void PipeImpl::remember(const Context& ctx, const blocks::Admission::Row* admission,
                        const blocks::Forwarder::Row6* route) {
  const blocks::Job& job = *ctx.job;
  if ((ctx.type() != Type::up && ctx.type() != Type::down) || ctx.trace || !route || !admission ||
      ctx.parsed.lane_count != job.lanes || ctx.packet->tail ||
      ctx.packet->size != wire::kHeadSize + 4u * job.lanes ||
      uint64_t{job.slot_base} + job.ring_mask >= program_.config.slots ||
      !program_.admission.holds_for_slots(*admission, job.slot_base, job.ring_mask))
    return;
  Flow& flow = new_flows_[new_flow_count_++];
  flow.key = FlowKey::of(ctx.packet->data, ctx.packet->port);
  flow.admission = admission;
  flow.admit = *ctx.admit;
  flow.job = job;
  flow.shard = ctx.parsed.shard;
  flow.local_shard = static_cast<uint8_t>(ctx.local_shard);
  flow.up = ctx.type() == Type::up;
  flow.segment = ctx.segment;
  flow.route = route;
  flow.packets = 0;
}

bool PipeImpl::classify(Context& ctx) {
  Packet* packet = ctx.packet;
  if (packet->port % base::kPortsPerPipe == base::kRecirculationPort && speak_for(ctx)) return false;
  ctx.parsed = wire::parse(*packet);
  if (ctx.parsed.error != DropReason::none && ctx.parsed.kind == wire::Kind::other) {
    drop(packet, ctx.parsed.error);
    return false;
  }
  if (!for_us(ctx.head->ethernet, program_.config.mac)) {
    drop(packet, DropReason::foreign_mac);
    return false;
  }
  if (ctx.parsed.kind == wire::Kind::arp) {
    const DropReason reason = local_stack_.arp(packet, ctx.now_ns, *out_);
    if (reason != DropReason::none) count(reason);
    return false;
  }
  if (ctx.parsed.kind == wire::Kind::ipv4) {
    forward4(ctx);
    return false;
  }
  if (refuse_stranger(ctx)) return false;
  const blocks::Forwarder::Row6* row = nullptr;
  const Route& route = program_.forwarder.lookup6(ctx.head->ipv6.dst_addr, index_, &row);
  // What was sent to an aggregation address of no job here is refused with its reason, not answered.
  const bool no_job = route.kind == Route::Kind::local &&
                      ctx.head->ipv6.dst_addr[8] == static_cast<uint8_t>(wire::Function::aggregate);
  if (route.kind != Route::Kind::aggregate && !no_job) {
    forward6(ctx, route);
    return false;
  }
  if (ctx.parsed.error != DropReason::none || ctx.parsed.kind != wire::Kind::l3dml) {
    constexpr uint8_t kFragment = 44;
    const DropReason reason = ctx.parsed.error != DropReason::none      ? ctx.parsed.error
                              : ctx.head->ipv6.next_header == kFragment ? DropReason::fragment
                                                                        : DropReason::not_l3dml;
    drop(packet, reason);
    return false;
  }
  if (no_job) known_jobs_.set_route(ctx.head->ipv6.dst_addr, row);
  const blocks::Admission::Row* admission = ingress_.admit(ctx);
  if (ctx.reason == DropReason::none) remember(ctx, admission, row);
  return true;
}

void PipeImpl::transmit(Packet* packet, uint16_t port, const wire::MacAddress& dmac) {
  if (port >= program_.ports.size() || !program_.ports[port].up) return drop(packet, DropReason::port_down);
  auto& ethernet = *reinterpret_cast<wire::EthernetHeader*>(packet->data);
  ethernet.dst_addr = dmac;
  ethernet.src_addr = program_.config.mac;
  out_->send(packet, port);
}

void PipeImpl::forward6(Context& ctx, const Route& route) {
  Packet* packet = ctx.packet;
  wire::Ipv6Header& ip = ctx.head->ipv6;
  DropReason reason = DropReason::none;
  if (LocalStack::is_neighbor_discovery(*ctx.head, packet->size)) {
    reason = local_stack_.neighbor_discovery(packet, ctx.now_ns, *out_);
  } else if (route.kind == Route::Kind::local) {
    reason = local_stack_.local6(packet, ctx.now_ns, *out_);
  } else if (route.kind == Route::Kind::none) {
    reason = local_stack_.error6(packet, kUnreachable6, 0, DropReason::no_route, ctx.now_ns, *out_);
  } else if (ip.hop_limit <= 1) {
    reason = local_stack_.error6(packet, kTimeExceeded6, 0, DropReason::hop_limit, ctx.now_ns, *out_);
  } else {
    const wire::MacAddress* dmac = &route.dmac;
    if (*dmac == wire::MacAddress{}) dmac = local_stack_.resolve6(ip.dst_addr, route.port, ctx.now_ns, *out_);
    if (!dmac) return drop(packet, DropReason::no_neighbor);
    --ip.hop_limit;
    if (ctx.trace) [[unlikely]]
      ctx.trace->line(ctx.id, "Ingress.forwarder", absl::StrCat("forward by port ", route.port));
    return transmit(packet, route.port, *dmac);
  }
  if (reason != DropReason::none) count(reason);
}

void PipeImpl::forward4(Context& ctx) {
  Packet* packet = ctx.packet;
  uint8_t* ip = packet->data + wire::kEthernetSize;
  base::be32_t dst;
  std::memcpy(&dst, ip + 16, 4);
  const Route& route = program_.forwarder.lookup4(dst.load(), index_);
  DropReason reason = DropReason::none;
  if (route.kind == Route::Kind::local) {
    reason = local_stack_.local4(packet, ctx.now_ns, *out_);
  } else if (route.kind != Route::Kind::forward) {
    reason = local_stack_.error4(packet, kUnreachable4, 0, DropReason::no_route, ctx.now_ns, *out_);
  } else if (ip[8] <= 1) {
    reason = local_stack_.error4(packet, kTimeExceeded4, 0, DropReason::hop_limit, ctx.now_ns, *out_);
  } else {
    const wire::MacAddress* dmac = &route.dmac;
    if (*dmac == wire::MacAddress{}) dmac = local_stack_.resolve4(dst.load(), route.port, ctx.now_ns, *out_);
    if (!dmac) return drop(packet, DropReason::no_neighbor);
    --ip[8];
    const uint32_t sum =
        static_cast<uint32_t>(ip[10] << 8 | ip[11]) + 0x100;  // RFC 1624: TTL went down by one
    const auto checksum = static_cast<uint16_t>(sum + (sum >> 16));
    ip[10] = static_cast<uint8_t>(checksum >> 8), ip[11] = static_cast<uint8_t>(checksum);
    return transmit(packet, route.port, *dmac);
  }
  if (reason != DropReason::none) count(reason);
}

void PipeImpl::handle(Context& ctx) {
  if (ctx.reason == DropReason::none && ctx.packet->tail && ctx.type() == Type::up && !linearise(ctx)) return;
  if (ctx.reason != DropReason::none) {
    if (ctx.trace) [[unlikely]]
      ctx.trace->line(ctx.id, "Ingress.drop", std::string(base::drop_reason_text(ctx.reason)));
    return drop(ctx.packet, ctx.reason);
  }
  switch (ctx.type()) {
    case Type::nack:
      return repair(ctx);
    case Type::sync: {
      const Hole hole = ingress_.synchronise(ctx);
      count(ctx.reason);
      return hole.exists() ? send_nack(ctx, hole, ctx.packet) : discard(ctx.packet);
    }
    default: {
      const Hole hole = ingress_.aggregate(ctx);
      if (hole.exists()) {
        if (Packet* nack = pool_->alloc())
          send_nack(ctx, hole, nack);
        else
          count(DropReason::no_buffer);
      }
      return act(ctx);
    }
  }
}

// An UP whose lanes lie in a shared tail (it came over an emulated link) is copied: the sum is written into
// it.
bool PipeImpl::linearise(Context& ctx) {
  Packet* packet = ctx.packet;
  const uint32_t room = packet->capacity - static_cast<uint32_t>(packet->data - packet->buffer);
  if (packet->frame_size() > room) {
    drop(packet, DropReason::no_buffer);
    return false;
  }
  Packet* tail = packet->tail;
  std::memcpy(packet->data + packet->size, tail->data, tail->size);
  packet->size += tail->size;
  packet->tail = nullptr;
  if (--tail->refs == 0) tail->pool->recycle(tail);
  ctx.parsed.lanes = packet->data + wire::kHeadSize;
  return true;
}

void PipeImpl::tick(int64_t now_ns, Outbox& out) {
  out_ = &out;
  sender_.tick(now_ns, [&](const blocks::SegmentSender::Last& last, uint32_t next) {
    Packet* packet = pool_->alloc();
    if (!packet) return count(DropReason::no_buffer);
    Outgoing fields;
    fields.type = Type::sync;
    fields.flags = last.down ? wire::kFlagDown : 0;
    fields.job = last.job;
    fields.epoch = last.epoch;
    fields.seq = next;
    egress_.send(packet, 0, last.neighbor, last.shard, 0, last.port, fields, now_ns);
  });
  if (generation_.next_deadline_ns() <= now_ns) generate(now_ns, out);
}

}  // namespace l3dml::pipeline
