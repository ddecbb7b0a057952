// Who receives a copy, and how its head looks: p4/replica.p4, table pipe.Egress.replica.replica, keyed by
// neighbor (the replication id) and shard. An entry is kept as a ready-made head; a packet costs one copy of
// it plus the few fields that vary.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/base/limits.h"
#include "dataplane/tna/shape.h"
#include "dataplane/tna/twin.h"
#include "dataplane/wire/header.h"

namespace l3dml::blocks {

struct alignas(64) Replica {
  wire::Head head{};        // everything that does not vary from packet to packet
  uint32_t slot_base = 0;   // the receiver's ring
  uint32_t slot_mask = 0;   // its entries - 1
  uint8_t shard_shift = 0;  // log2 of the job's shards
  uint32_t ring_base = 0;   // where this segment's seq -> number entries lie
  uint32_t ring_mask = 0;   // their count - 1

  uint32_t slot(uint32_t number) const { return slot_base + ((number >> shard_shift) & slot_mask); }
};

class ReplicaTable final : public tna::TableTwin {
 public:
  ReplicaTable(uint32_t neighbors, uint32_t ring_entries);

  const Replica* lookup(uint16_t neighbor, uint8_t shard) const {
    if (neighbor >= neighbors_) return nullptr;
    const uint32_t row = index_[size_t{shard} * neighbors_ + neighbor];
    return row ? &rows_[row] : nullptr;
  }

  void prefetch(uint16_t neighbor, uint8_t shard) const {
    if (const Replica* row = lookup(neighbor, shard)) {
      __builtin_prefetch(row);
      __builtin_prefetch(reinterpret_cast<const char*>(row) + 64);
    }
  }

  static tna::TableShape shape() {
    return {.key = {16, 6},
            .actions = {{"Egress.replica.to_neighbor", {48, 48, 128, 128, 16, 16, 8, 32, 32, 8, 32, 32}}}};
  }
  absl::Status check(const tna::Entry& entry) const override;
  void insert(tna::Handle handle, const tna::Entry& entry) override;
  void modify(tna::Handle handle, const tna::Entry& entry) override;
  void remove(tna::Handle handle) override;
  void set_default(const tna::Entry&) override {}

 private:
  uint32_t neighbors_, ring_entries_;
  std::vector<uint32_t> index_;  // shard * neighbors + neighbor -> row, 0: none; one shard's lie together
  std::vector<Replica> rows_;    // row 0 unused
  std::vector<uint32_t> free_;
  absl::flat_hash_map<tna::Handle, uint32_t> places_;  // handle -> place in index_
};

}  // namespace l3dml::blocks
