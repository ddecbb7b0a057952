// What forwarder, admission and job said about a flow, kept by one pipe: the gradients of one child of one
// job differ only in number, slot, seq and what they carry, so the tables' answer for the first of them holds
// for the rest. One look-up with whole header words in place of four tables (as the exact-match cache of Open
// vSwitch does); what is not found takes the way through the tables.
//
// A flow is kept only if no other entry could decide about any of its packets (Admission::holds_for_slots).
// Its packets are counted here and written to the entries' direct counters by flush(), which every change and
// every read of those tables calls first (watched_table.h): nothing here outlives the entry it came from. One
// thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dataplane/blocks/admission.h"
#include "dataplane/blocks/forwarder.h"

namespace l3dml::pipeline {

struct FlowKey {
  // Bytes of the frame as they lie there, without those that vary within a flow.
  std::array<uint64_t, 7> words;

  // `head`: at least wire::kHeadSize bytes.
  static FlowKey of(const uint8_t* head, uint16_t ingress_port) {
    static_assert(std::endian::native == std::endian::little, "the masks are those of little-endian hosts");
    constexpr uint64_t kSixBytes = 0x0000ffffffffffff;
    constexpr uint64_t kTypeVersionLength = 0xffff000000f0ffff;  // not traffic class and flow label
    uint16_t udp_port;
    std::memcpy(&udp_port, head + 56, 2);
    const uint64_t next_header = head[20];
    return {{(word(head) & kSixBytes) | uint64_t{udp_port} << 48,
             (word(head + 12) & kTypeVersionLength) | next_header << 24, word(head + 22), word(head + 30),
             word(head + 38), word(head + 46),
             (word(head + 62) & kSixBytes) | uint64_t{ingress_port} << 48}};  // version .. child, not tag
  }
  // Of the aggregation address that the frame is sent to, if it is one.
  static uint16_t job(const uint8_t* head) { return static_cast<uint16_t>(head[48] << 8 | head[49]); }
  // Word by word: gathered into vectors, the words would take a detour through memory that stalls.
  friend bool operator==(const FlowKey& a, const FlowKey& b) {
    return a.words[5] == b.words[5] && a.words[6] == b.words[6] && a.words[3] == b.words[3] &&
           a.words[4] == b.words[4] && a.words[2] == b.words[2] && a.words[0] == b.words[0] &&
           a.words[1] == b.words[1];
  }
  // Job, child, source host, shard and port are what tells flows of one switch apart.
  uint64_t hash() const {
    const uint64_t h = words[0] * 0x9e3779b97f4a7c15 + words[3] * 0xd6e8feb86659fd93 +
                       words[5] * 0xff51afd7ed558ccd + words[6] * 0xc4ceb9fe1a85ec53;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15;
  }

 private:
  static uint64_t word(const uint8_t* bytes) {
    uint64_t value;
    std::memcpy(&value, bytes, 8);
    return value;
  }
};

struct alignas(64) Flow {
  FlowKey key{};
  const blocks::Admission::Row* admission = nullptr;  // null: an empty place
  // What is needed per packet lies in the second cache line, copied from the tables.
  blocks::Admit admit;
  blocks::Job job;
  uint8_t shard = 0;
  uint8_t local_shard = 0;
  bool up = false;       // gradients; else results
  uint32_t segment = 0;  // index into the pipe's segment registers
  const blocks::Forwarder::Row6* route = nullptr;
  uint64_t packets = 0;  // not yet written to the entries

  uint32_t frame_size() const { return static_cast<uint32_t>(wire::kHeadSize) + 4u * job.lanes; }
};
static_assert(sizeof(Flow) == 128);

class FlowCache {
 public:
  // Room for four times as many flows, so that two places per flow nearly always suffice.
  FlowCache(uint32_t flows, unsigned pipe) : pipe_(pipe), flows_(std::bit_ceil(size_t{flows} * 4 + 64)) {
    used_.reserve(flows_.size());
    recent_ = flows_.data();
  }

  // The flow found last, if it is the same again: packets of one port come in runs.
  Flow* find_recent(const FlowKey& key) const {
    return recent_->key == key && recent_->admission ? recent_ : nullptr;
  }
  void prefetch(const FlowKey& key) const {
    const auto* line = reinterpret_cast<const char*>(&flows_[place(key.hash())]);
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + 64, 1);
  }
  Flow* find(const FlowKey& key) {
    Flow* const flow = look_up(key);
    if (flow) recent_ = flow;
    return flow;
  }
  void insert(const Flow& flow) {
    if (look_up(flow.key)) return;  // twice in one burst
    const uint64_t hash = flow.key.hash();
    size_t at = place(hash);
    if (flows_[at].admission) at = place(hash >> 32);
    if (flows_[at].admission)
      count(flows_[at]);
    else
      used_.push_back(static_cast<uint32_t>(at));
    flows_[at] = flow;
  }
  void flush() {
    for (const uint32_t at : used_) {
      count(flows_[at]);
      flows_[at] = {};
    }
    used_.clear();
  }

  size_t used() const { return used_.size(); }

 private:
  Flow* look_up(const FlowKey& key) {
    const uint64_t hash = key.hash();
    Flow& first = flows_[place(hash)];
    if (first.key == key) return first.admission ? &first : nullptr;
    Flow& second = flows_[place(hash >> 32)];
    return second.key == key && second.admission ? &second : nullptr;
  }
  size_t place(uint64_t hash) const { return hash & (flows_.size() - 1); }
  void count(const Flow& flow) const {
    if (flow.packets == 0) return;
    flow.route->count(pipe_, flow.packets, 0);
    flow.admission->count(pipe_, flow.packets, flow.packets * flow.frame_size());
  }

  unsigned pipe_;
  std::vector<Flow> flows_;     // a power of two
  std::vector<uint32_t> used_;  // places that are not empty
  Flow* recent_;                // never null; may be empty by now
};

}  // namespace l3dml::pipeline
