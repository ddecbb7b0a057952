// What becomes of a packet once the program has decided (blocks/next_step.h): results and sums that leave,
// answers, NACKs and repairs.
#include "dataplane/base/mutation.h"
#include "dataplane/pipeline/pipe.h"

namespace l3dml::pipeline {

using base::DropReason;
using base::Packet;
using blocks::Context;
using blocks::Hole;
using blocks::Step;
using wire::Type;

void PipeImpl::act(Context& ctx) {
  switch (ctx.step) {
    case Step::drop:
      return drop(ctx.packet, ctx.reason);
    case Step::answer_down:
      return answer_down(ctx);
    case Step::multicast_down:
      return multicast_down(ctx);
    case Step::send_up:
      return send_up(ctx);
    case Step::answer_probe:
      return answer_probe(ctx);
  }
}

Outgoing PipeImpl::from_entry(const Context& ctx, Type type, const blocks::SlotEntry& entry,
                              uint32_t number) const {
  Outgoing fields;
  fields.type = type;
  fields.job = ctx.head->l3dml.job.load();
  fields.epoch = ctx.head->l3dml.epoch;
  fields.number = number;
  fields.exp = entry.exp;
  fields.next_exp = entry.exp_max;
  fields.weight = type == Type::up && L3DML_MUTATE(sum_weighs_one) ? uint16_t{1} : entry.weight;
  return fields;
}

uint32_t PipeImpl::parent_segment(const Context& ctx) const {
  return ctx.admit->parent * state_.shards_per_pipe + ctx.local_shard;
}

void PipeImpl::answer_down(Context& ctx) {
  Outgoing fields = from_entry(ctx, Type::down, *ctx.entry, ctx.number);
  fields.tag = ctx.head->l3dml.tag.load();
  egress_.send(ctx.packet, ctx.job->lanes * 4u, ctx.admit->neighbor, ctx.parsed.shard, ctx.segment,
               ctx.admit->neighbor_port, fields, ctx.now_ns);
}

// The packet that holds the result becomes the shared tail; each child gets a head of its own.
void PipeImpl::multicast_down(Context& ctx) {
  Outgoing fields = from_entry(ctx, Type::down, *ctx.entry, ctx.number);
  if (ctx.congested()) fields.flags = wire::kFlagEce;
  const uint32_t lane_bytes = ctx.job->lanes * 4u;
  Packet* tail = ctx.packet;
  if (tail->tail && ctx.parsed.lanes == tail->tail->data) {
    tail = ctx.packet->tail;
    ctx.packet->tail = nullptr;
    ctx.packet->pool->recycle(ctx.packet);
  } else {
    tail->data = ctx.parsed.lanes;
    tail->size = lane_bytes;
    tail->refs = 1;
  }
  multicast(tail, {fields, ctx.parsed.shard, lane_bytes}, ctx.admit->mgid, ctx.local_shard, ctx.now_ns);
}

void PipeImpl::send_up(Context& ctx) {
  Outgoing fields = from_entry(ctx, Type::up, *ctx.entry, ctx.number);
  fields.flags =
      static_cast<uint8_t>((ctx.congested() ? wire::kFlagEce : 0) | (ctx.again ? wire::kFlagRetx : 0));
  const size_t lanes = L3DML_MUTATE(sum_as_long_as_its_last_up) ? ctx.parsed.lane_count : ctx.job->lanes;
  egress_.send(ctx.packet, static_cast<uint32_t>(lanes * 4), ctx.admit->parent, ctx.parsed.shard,
               parent_segment(ctx), ctx.admit->parent_port, fields, ctx.now_ns);
}

void PipeImpl::answer_probe(Context& ctx) {
  if (ctx.again) {  // complete, but the result has not come: the sum goes to the parent once more
    if (Packet* packet = pool_->alloc()) {
      state_.aggregator.emit(ctx.slot, ctx.job->lanes, packet->data + wire::kHeadSize);
      Outgoing up = from_entry(ctx, Type::up, *ctx.entry, ctx.number);
      up.flags = wire::kFlagRetx;
      egress_.send(packet, ctx.job->lanes * 4u, ctx.admit->parent, ctx.parsed.shard, parent_segment(ctx),
                   ctx.admit->parent_port, up, ctx.now_ns);
    } else {
      count(DropReason::no_buffer);
    }
  }
  Outgoing fields;
  fields.type = Type::probe;
  fields.flags = wire::kFlagDown;
  fields.job = ctx.head->l3dml.job.load();
  fields.epoch = ctx.head->l3dml.epoch;
  fields.tag = ctx.head->l3dml.tag.load();
  fields.number = ctx.number;
  fields.weight = ctx.probe_answer;
  if (ctx.again) return mirror(ctx, ctx.packet, ctx.admit->neighbor, ctx.admit->neighbor_port, fields);
  egress_.send(ctx.packet, 0, ctx.admit->neighbor, ctx.parsed.shard, ctx.segment, ctx.admit->neighbor_port,
               fields, ctx.now_ns);
}

void PipeImpl::send_nack(Context& ctx, const Hole& hole, Packet* packet) {
  const bool down = ctx.type() == Type::down || (ctx.type() == Type::sync && ctx.down_flag());
  Outgoing fields;
  fields.type = Type::nack;
  fields.flags = down ? wire::kFlagDown : 0;
  fields.job = ctx.head->l3dml.job.load();
  fields.epoch = ctx.head->l3dml.epoch;
  fields.number = hole.end;
  fields.seq = hole.first;
  mirror(ctx, packet, ctx.admit->neighbor, ctx.admit->neighbor_port, fields);
}

// NACK [seq, number): what of it still lies in its slot is sent again as new packets. Bounded by the ring,
// and by the repairs that first transmissions have allowed, so a forged NACK cannot make more traffic than
// the job made.
void PipeImpl::repair(Context& ctx) {
  uint32_t first = ctx.head->l3dml.seq.load(), end = ctx.number;
  const blocks::Replica* replica = program_.replica.lookup(ctx.admit->neighbor, ctx.parsed.shard);
  DropReason reason = DropReason::consumed;
  if (!replica) {
    reason = DropReason::unknown_replica;
  } else if (!sender_.clip(ctx.segment, *replica, &first, &end)) {
    reason = DropReason::nack_empty;
  } else {
    for (uint32_t seq = first; seq != end; ++seq) {
      if (!sender_.may_repair(ctx.segment)) {
        reason = DropReason::nack_limited;
        break;
      }
      pass_.open();
      if (!repair_one(ctx, sender_.number(*replica, seq))) count(DropReason::nack_not_held);
    }
  }
  if (ctx.trace) [[unlikely]]
    ctx.trace->line(
        ctx.id, "Egress.segment_sender",
        absl::StrCat("NACK [", first, ", ", end, "): ", std::string(base::drop_reason_name(reason))));
  drop(ctx.packet, reason);
}

bool PipeImpl::repair_one(Context& ctx, uint32_t number) {
  const bool down = ctx.down_flag();
  const uint32_t slot = ctx.job->slot_base + ((number >> ctx.job->shard_shift) & ctx.job->ring_mask);
  const uint32_t index = slot * state_.shards_per_pipe + ctx.local_shard;
  if (slot >= program_.config.slots) return false;
  const blocks::SlotEntry& entry = state_.slot_state.cell(index);
  const bool done = entry.bitmap & blocks::kDoneBit;
  const bool after_result = done && !L3DML_MUTATE(repairs_sum_after_result);
  if (entry.stamp != number && !L3DML_MUTATE(repairs_what_slot_holds_now)) return false;
  if (down ? !done : (after_result || entry.count != 0)) return false;
  Packet* packet = pool_->alloc();
  if (!packet) {
    count(DropReason::no_buffer);
    return true;
  }
  const uint16_t checksum = state_.aggregator.emit(index, ctx.job->lanes, packet->data + wire::kHeadSize);
  packet->sum = checksum;
  packet->has_sum = true;
  Outgoing fields = from_entry(ctx, down ? Type::down : Type::up, entry, number);
  fields.flags = down ? 0 : wire::kFlagRetx;
  fields.repair = true;
  egress_.send(packet, ctx.job->lanes * 4u, ctx.admit->neighbor, ctx.parsed.shard, ctx.segment,
               ctx.admit->neighbor_port, fields, ctx.now_ns);
  return true;
}

}  // namespace l3dml::pipeline
