// One pipe: takes a burst through parser, ingress, traffic manager and egress, run to completion. One thread.
// Reading order of the packet's walk: process() -> classify() -> Ingress (ingress.cc) -> handle() -> Egress.
// recognise() is the short way to the same place as classify() for packets of a flow that the tables have
// already answered for, express() (express.cc) that of handle() for gradients of such a flow that are in
// order, refuse_stranger() that of classify() for gradients of jobs that no table knows.
#pragma once

#include <algorithm>
#include <array>
#include <functional>

#include "dataplane/pipeline/egress.h"
#include "dataplane/pipeline/flow_cache.h"
#include "dataplane/pipeline/generation.h"
#include "dataplane/pipeline/ingress.h"
#include "dataplane/pipeline/known_jobs.h"
#include "dataplane/pipeline/local_stack.h"

namespace l3dml::pipeline {

class PipeImpl final : public Pipe {
 public:
  PipeImpl(const Program& program, unsigned index, base::PacketPool* pool);

  void process(std::span<base::Packet* const> burst, int64_t now_ns, Outbox& out) override;
  void tick(int64_t now_ns, Outbox& out) override;
  int64_t next_deadline_ns() const override {
    return std::min(sender_.next_deadline_ns(), generation_.next_deadline_ns());
  }
  uint64_t drops(base::DropReason reason) const override { return drops_[static_cast<size_t>(reason)]; }

  // What the driver reads and writes, at quiescence.
  IngressState& ingress_state() { return state_; }
  blocks::SegmentSender& sender() { return sender_; }
  uint64_t* drop_counters() { return drops_.data(); }
  void set_trace(base::TraceSink* sink, std::function<bool(const base::Packet&)> filter);
  void forget_flows() { flows_.flush(), known_jobs_.forget(); }
  Generation& generation() { return generation_; }

 private:
  using Context = blocks::Context;

  // A packet of the burst in hand that is for this switch.
  struct Arrival {
    base::Packet* packet;
    Flow* flow;  // null: the context of the same place says it all
    uint32_t number, slot;
  };

  // True if the packet belongs to a known flow and is as its packets must be: then *arrival says so.
  bool recognise(base::Packet* packet, Arrival* arrival);
  // Fills ctx as classify() would have left it.
  void describe(const Arrival& arrival, int64_t now_ns, Context& ctx);
  void begin(base::Packet* packet, int64_t now_ns, Context& ctx) const;
  // True if it is done: a gradient of a known flow with the number that was due, that begins its slot, adds
  // to it, or completes it at the root. False: nothing has happened yet.
  bool express(const Arrival& arrival, int64_t now_ns);
  bool refuse_stranger(Context& ctx);
  // Parses, routes, admits; true if the packet is a gradient for this switch (then ctx is set up, or has the
  // reason to drop it), else it has been dealt with.
  bool classify(Context& ctx);
  void remember(const Context& ctx, const blocks::Admission::Row* admission,
                const blocks::Forwarder::Row6* route);
  void fetch(size_t index) const;
  void forward6(Context& ctx, const blocks::Route& route);
  void forward4(Context& ctx);
  void transmit(base::Packet* packet, uint16_t port, const wire::MacAddress& dmac);
  // From the recirculation port: what the packet generator made (true), or an ordinary frame.
  bool speak_for(Context& ctx);
  void generate(int64_t now_ns, Outbox& out);

  void handle(Context& ctx);
  void act(Context& ctx);
  void answer_down(Context& ctx);
  void multicast_down(Context& ctx);
  // The packet (or its tail) that holds a result goes to all of a group.
  void multicast(base::Packet* tail, const ResultHeads& heads, uint16_t group, uint32_t local_shard,
                 int64_t now_ns);
  void send_up(Context& ctx);
  void answer_probe(Context& ctx);
  void send_nack(Context& ctx, const blocks::Hole& hole, base::Packet* packet);
  // What a chip sends as a copy of the packet in hand, by the mirror session of a port.
  void mirror(Context& ctx, base::Packet* packet, uint16_t neighbor, uint16_t port, const Outgoing& fields);
  void repair(Context& ctx);
  bool repair_one(Context& ctx, uint32_t number);
  Outgoing from_entry(const Context& ctx, wire::Type type, const blocks::SlotEntry& entry,
                      uint32_t number) const;
  uint32_t parent_segment(const Context& ctx) const;
  bool linearise(Context& ctx);

  void count(base::DropReason reason) { ++drops_[static_cast<size_t>(reason)]; }
  void drop(base::Packet* packet, base::DropReason reason) {
    count(reason);
    discard(packet);
  }
  // Releases at the end of the burst, those of one pool together.
  void discard(base::Packet* packet) {
    if (packet->tail) [[unlikely]]
      return base::release(packet);
    discard_plain(packet);
  }
  void discard_plain(base::Packet* packet) {
    if (discarded_count_ == discarded_.size() || (discarded_count_ && discarded_[0]->pool != packet->pool))
      release_discarded();
    discarded_[discarded_count_++] = packet;
  }
  void release_discarded() {
    if (discarded_count_) discarded_[0]->pool->recycle_bulk(discarded_.data(), discarded_count_);
    discarded_count_ = 0;
  }

  const Program& program_;
  unsigned index_;  // of this pipe
  base::PacketPool* pool_;
  tna::Pass pass_;
  IngressState state_;
  Ingress ingress_;
  blocks::SegmentSender sender_;
  Generation generation_;
  std::array<uint64_t, base::kDropReasons> drops_{};
  FlowCache flows_;
  KnownJobs known_jobs_;
  std::array<Arrival, base::kBurst> arrivals_;
  std::array<Context, base::kBurst> contexts_;  // of the burst in hand, as all that follows up to out_
  std::array<Flow, base::kBurst> new_flows_;
  unsigned new_flow_count_ = 0;
  std::array<base::Packet*, base::kBurst> discarded_;
  unsigned discarded_count_ = 0;
  Outbox* out_ = nullptr;
  Egress egress_;
  LocalStack local_stack_;
  base::TraceSink* trace_ = nullptr;
  std::function<bool(const base::Packet&)> trace_filter_;
  uint64_t packets_ = 0;  // seen; names packets in traces
};

}  // namespace l3dml::pipeline
