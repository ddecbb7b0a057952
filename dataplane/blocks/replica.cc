#include "dataplane/blocks/replica.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "dataplane/tna/bytes.h"

namespace l3dml::blocks {
namespace {

using tna::to_uint;

enum Param {
  dmac,
  smac,
  dst_addr,
  src_addr,
  udp_src_port,
  udp_dst_port,
  child,
  slot_base,
  slot_mask,
  shard_shift,
  ring_base,
  ring_mask,
  count
};

constexpr uint8_t kHopLimit = 64;
constexpr uint32_t kVersionEct0 = 6u << 28 | 2u << 20;  // version 6, ECN-capable transport

Replica read(const tna::Entry& entry) {
  const auto& p = entry.params;
  Replica r;
  std::memcpy(r.head.ethernet.dst_addr.data(), p[dmac].data(), 6);
  std::memcpy(r.head.ethernet.src_addr.data(), p[smac].data(), 6);
  r.head.ethernet.ether_type.set(wire::kEtherTypeIpv6);
  r.head.ipv6.version_class_flow.set(kVersionEct0);
  r.head.ipv6.next_header = wire::kProtocolUdp;
  r.head.ipv6.hop_limit = kHopLimit;
  std::memcpy(r.head.ipv6.dst_addr.data(), p[dst_addr].data(), 16);
  std::memcpy(r.head.ipv6.src_addr.data(), p[src_addr].data(), 16);
  r.head.udp.src_port.set(static_cast<uint16_t>(to_uint(p[udp_src_port])));
  r.head.udp.dst_port.set(static_cast<uint16_t>(to_uint(p[udp_dst_port])));
  r.head.udp.checksum.set(0);
  r.head.l3dml.child = static_cast<uint8_t>(to_uint(p[child]));
  r.slot_base = static_cast<uint32_t>(to_uint(p[slot_base]));
  r.slot_mask = static_cast<uint32_t>(to_uint(p[slot_mask]));
  r.shard_shift = static_cast<uint8_t>(to_uint(p[shard_shift]));
  r.ring_base = static_cast<uint32_t>(to_uint(p[ring_base]));
  r.ring_mask = static_cast<uint32_t>(to_uint(p[ring_mask]));
  return r;
}

}  // namespace

ReplicaTable::ReplicaTable(uint32_t neighbors, uint32_t ring_entries)
    : neighbors_(neighbors),
      ring_entries_(ring_entries),
      index_(size_t{neighbors} * base::kMaxShards),
      rows_(1) {}

absl::Status ReplicaTable::check(const tna::Entry& entry) const {
  if (entry.action.empty() || entry.action == "NoAction") return absl::OkStatus();
  if (entry.action != "Egress.replica.to_neighbor" || entry.params.size() != Param::count)
    return absl::InvalidArgumentError(absl::StrCat("replica has no action ", entry.action));
  if (entry.key.size() == 2 && to_uint(entry.key[0].value) >= neighbors_)
    return absl::InvalidArgumentError(absl::StrCat("neighbor ", to_uint(entry.key[0].value),
                                                   " is beyond the ", neighbors_, " of this device"));
  const uint64_t ring = to_uint(entry.params[ring_mask]) + 1;
  if ((ring & (ring - 1)) != 0) return absl::InvalidArgumentError("ring_mask is a power of two minus one");
  if (to_uint(entry.params[ring_base]) + ring > ring_entries_)
    return absl::InvalidArgumentError(
        absl::StrCat("ring_base + ring is beyond the ", ring_entries_, " entries of this device"));
  return absl::OkStatus();
}

void ReplicaTable::insert(tna::Handle handle, const tna::Entry& entry) {
  const auto at =
      static_cast<uint32_t>(to_uint(entry.key[1].value) * neighbors_ + to_uint(entry.key[0].value));
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  index_[at] = free_.back();
  free_.pop_back();
  places_[handle] = at;
  modify(handle, entry);
}

void ReplicaTable::modify(tna::Handle handle, const tna::Entry& entry) {
  const auto it = places_.find(handle);
  if (it != places_.end() && entry.params.size() == Param::count) rows_[index_[it->second]] = read(entry);
}

void ReplicaTable::remove(tna::Handle handle) {
  const auto it = places_.find(handle);
  if (it == places_.end()) return;
  free_.push_back(index_[it->second]);
  index_[it->second] = 0;
  places_.erase(it);
}

}  // namespace l3dml::blocks
