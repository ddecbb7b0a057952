#include "dataplane/pipeline/ingress.h"

#include "dataplane/base/mutation.h"
#include "dataplane/wire/address.h"

namespace l3dml::pipeline {

using base::DropReason;
using blocks::Context;
using blocks::Hole;
using wire::Type;

IngressState::IngressState(const DeviceConfig& config, const tna::Pass* pass)
    : shards_per_pipe(config.shards_per_pipe),
      segment_receiver(config.neighbors * config.shards_per_pipe, pass),
      slot_state(config.slots * config.shards_per_pipe, pass),
      aggregator(config.slots * config.shards_per_pipe, config.lanes) {}

const blocks::Admission::Row* Ingress::admit(Context& ctx) const {
  const wire::L3dmlHeader& header = ctx.head->l3dml;
  ctx.reason = wire::validate(header);
  if (ctx.reason != DropReason::none) return nullptr;
  // Job and child in address and header agree; results and the parent's messages come to child ffff.
  const wire::Ipv6Address& dst = ctx.head->ipv6.dst_addr;
  const uint16_t child = wire::address_word(dst, 6);
  if (wire::address_word(dst, 5) != header.job.load() ||
      (child != wire::kChildParent && child != header.child)) {
    ctx.reason = DropReason::address_mismatch;
    return nullptr;
  }
  const blocks::Admission::Row* row = program_.admission.apply(ctx, pipe_);
  if (ctx.reason == DropReason::none) program_.job.apply(ctx);
  if (ctx.reason == DropReason::none) locate(ctx);
  return row;
}

// Which slot and which segment; lanes, number, shard and slot must agree with the job.
void Ingress::locate(Context& ctx) const {
  check_lanes(ctx);
  if (ctx.reason != DropReason::none) return;
  const wire::L3dmlHeader& header = ctx.head->l3dml;
  const blocks::Job& job = *ctx.job;
  ctx.number = header.number.load();
  ctx.local_shard = ctx.parsed.shard / program_.config.pipes;
  if (ctx.parsed.shard >> job.shard_shift || ctx.local_shard >= state_.shards_per_pipe) {
    ctx.reason = DropReason::wrong_shard;
    return;
  }
  ctx.segment = ctx.admit->neighbor * state_.shards_per_pipe + ctx.local_shard;
  if (ctx.admit->neighbor >= program_.config.neighbors) {
    ctx.reason = DropReason::unknown_replica;
    return;
  }
  state_.segment_receiver.prefetch(ctx.segment);
  if (ctx.type() == Type::nack || ctx.type() == Type::sync) return;  // they speak of seq, not of a slot
  const uint32_t slot = job.slot_base + ((ctx.number >> job.shard_shift) & job.ring_mask);
  if (header.slot.load() != slot || (ctx.number & ((1u << job.shard_shift) - 1)) != ctx.parsed.shard) {
    ctx.reason = DropReason::wrong_shard;
    return;
  }
  ctx.slot = slot * state_.shards_per_pipe + (L3DML_MUTATE(shards_share_slots) ? 0 : ctx.local_shard);
  if (slot >= program_.config.slots) {
    ctx.reason = DropReason::wrong_slot;
    return;
  }
  state_.slot_state.prefetch(ctx.slot);
}

// A job's lanes are all or none; only a worker's UP may come without, and control messages never carry any.
void Ingress::check_lanes(Context& ctx) const {
  const uint16_t lanes = ctx.job->lanes;
  bool good = ctx.parsed.lane_count == lanes;
  if (ctx.type() == Type::up) {
    const bool from_switch = wire::address_word(ctx.head->ipv6.src_addr, 6) == wire::kChildSwitch &&
                             ctx.head->ipv6.src_addr[8] == static_cast<uint8_t>(wire::Function::aggregate);
    good = good || (ctx.parsed.lane_count == 0 && !from_switch);
  } else if (ctx.type() != Type::down) {
    good = ctx.parsed.lane_count == 0;
  }
  if (!good || lanes > state_.aggregator.lanes_per_slot()) ctx.reason = DropReason::bad_lane_count;
}

Hole Ingress::synchronise(Context& ctx) {
  const uint32_t next = ctx.head->l3dml.seq.load();
  const Hole hole = state_.segment_receiver.receive(ctx.segment, next, next);
  ctx.reason = hole.exists() ? DropReason::consumed : DropReason::sync_in_order;
  return hole;
}

}  // namespace l3dml::pipeline
