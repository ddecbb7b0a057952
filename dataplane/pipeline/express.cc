// The short ways of most packets, each bound to be what the blocks would have done: the blocks are the
// specification, flow_cache_test compares the two packet by packet and register by register. A packet that is
// anything but plain takes the way through the blocks, before anything has been touched.
#include <algorithm>

#include "dataplane/base/mutation.h"
#include "dataplane/base/serial.h"
#include "dataplane/pipeline/pipe.h"
#include "dataplane/wire/address.h"

namespace l3dml::pipeline {

using base::DropReason;
using base::Packet;
using wire::Type;

bool PipeImpl::express(const Arrival& arrival, int64_t now_ns) {
  const Flow& flow = *arrival.flow;
  Packet* const packet = arrival.packet;
  const wire::Head& head = *reinterpret_cast<const wire::Head*>(packet->data);
  const wire::L3dmlHeader& h = head.l3dml;
  const uint32_t seq = h.seq.load();
  const bool ce = (head.ipv6.version_class_flow.load() >> 20 & 3) == 3;
  if (L3DML_HAS_MUTATIONS || !flow.up || ce || !state_.segment_receiver.is_next(flow.segment, seq)) return false;
  const uint32_t mask = flow.admit.mask;
  const blocks::SlotEntry& now = state_.slot_state.cell(arrival.slot);
  const int32_t distance = base::serial_distance(now.stamp, arrival.number);
  const bool restart = distance < 0;
  if (distance > 0 || (!restart && (now.bitmap & (mask | blocks::kDoneBit)))) return false;
  const bool completes = (restart ? flow.admit.children : now.count) == 1;
  if (completes && flow.admit.role != blocks::Role::root) return false;

  state_.segment_receiver.receive_next(flow.segment, seq);
  blocks::SlotEntry& entry = state_.slot_state.access(arrival.slot);
  uint8_t* const lanes = packet->data + wire::kHeadSize;
  const uint32_t size = flow.job.lanes;
  const uint16_t weight = h.weight.load();
  if (restart) {
    entry = {arrival.number, mask, static_cast<uint16_t>(flow.admit.children - 1), weight, h.exp, h.next_exp};
    state_.aggregator.start(arrival.slot, lanes, size);
  } else {
    entry.bitmap |= mask;
    --entry.count;
    entry.weight = static_cast<uint16_t>(entry.weight + weight);
    entry.exp_max = h.exp != entry.exp ? wire::kExpOverflow : std::max(entry.exp_max, h.next_exp);
    if (!completes) state_.aggregator.add(arrival.slot, lanes, size);
  }
  if (!completes) {
    count(DropReason::consumed);
    discard_plain(packet);
    return true;
  }
  entry.bitmap |= blocks::kDoneBit;
  packet->has_sum = !restart;  // else its own lanes are the result
  if (!restart) packet->sum = state_.aggregator.add_and_emit(arrival.slot, lanes, size);
  Outgoing fields;
  fields.job = h.job.load();
  fields.epoch = h.epoch;
  fields.number = arrival.number;
  fields.exp = entry.exp;
  fields.next_exp = entry.exp_max;
  fields.weight = entry.weight;
  fields.flags = h.flags & wire::kFlagEce;
  const ResultHeads heads(fields, flow.shard, size * 4);
  packet->data = lanes;
  packet->size = size * 4;
  packet->refs = 1;
  multicast(packet, heads, flow.admit.mgid, flow.local_shard, now_ns);
  return true;
}

void PipeImpl::multicast(Packet* tail, const ResultHeads& heads, uint16_t group, uint32_t local_shard,
                         int64_t now_ns) {
  if (!program_.multicast.exists(group)) count(DropReason::unknown_replica);
  Packet* fresh[base::kBurst];
  const auto all = program_.multicast.plain(group);
  if (!all.empty() && all.size() <= base::kBurst) [[likely]] {
    const unsigned have = pool_->alloc_bulk(fresh, static_cast<unsigned>(all.size()));
    tail->refs = static_cast<uint16_t>(tail->refs + have);
    for (unsigned i = 0; i < have; ++i) {
      fresh[i]->tail = tail;
      egress_.send_result(fresh[i], heads, all[i].rid, all[i].rid * state_.shards_per_pipe + local_shard,
                          all[i].port, now_ns);
    }
    for (size_t i = have; i < all.size(); ++i) count(DropReason::no_buffer);
  } else {  // nodes may be left out
    program_.multicast.replicate(group, 0, 0, 0, [&](tna::Multicast::Replica replica) {
      Packet* const head = pool_->alloc();
      if (!head) return count(DropReason::no_buffer);
      head->tail = tail;
      ++tail->refs;
      egress_.send_result(head, heads, replica.rid, replica.rid * state_.shards_per_pipe + local_shard,
                          replica.port, now_ns);
    });
  }
  if (L3DML_MUTATE(multicast_leaks_its_tail)) return;
  if (--tail->refs == 0) tail->pool->recycle(tail);
}

// What classify() and admission would do, where no table can know the job.
bool PipeImpl::refuse_stranger(Context& ctx) {
  const wire::Ipv6Address& dst = ctx.head->ipv6.dst_addr;
  if (ctx.parsed.kind != wire::Kind::l3dml || ctx.trace ||
      dst[8] != static_cast<uint8_t>(wire::Function::aggregate))
    return false;
  known_jobs_.learn(program_.admission, program_.forwarder);
  const wire::L3dmlHeader& h = ctx.head->l3dml;
  const uint16_t job = wire::address_word(dst, 5), child = wire::address_word(dst, 6);
  const blocks::Forwarder::Row6* const route = known_jobs_.route(dst);
  if (!route || known_jobs_.knows(job) || job != h.job.load() ||
      (child != wire::kChildParent && child != h.child) || ctx.parsed.error != DropReason::none ||
      wire::validate(h) != DropReason::none)
    return false;
  route->count(index_, 1, 0);
  drop(ctx.packet, DropReason::unknown_job);
  return true;
}

}  // namespace l3dml::pipeline
