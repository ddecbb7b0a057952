// The packet replication engine: groups of nodes, each with a replication id and ports, level-1 exclusion by
// XID and level-2 pruning of ports (bfrt.md 4.5). Groups are copied in whole at quiescence, so a packet sees
// one or the other. A group is kept flat, one copy after the other, and found by its number without hashing:
// a result is multicast for every chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/tna/twin.h"

namespace l3dml::tna {

class Multicast final : public ReplicationTwin {
 public:
  struct Replica {
    uint16_t rid;
    uint16_t port;
  };

  void set_group(uint16_t mgid, std::vector<Node> nodes) override {
    if (mgid >= groups_.size()) groups_.resize(mgid + 1u);
    Group& group = groups_[mgid];
    group = {};
    group.exists = true;
    for (const Node& node : nodes) {
      for (const uint16_t port : node.ports) {
        group.replicas.push_back({node.rid, port});
        group.xids.push_back({node.xid, node.xid_valid});
        group.plain &= !node.xid_valid;
      }
    }
  }
  void remove_group(uint16_t mgid) override {
    if (mgid < groups_.size()) groups_[mgid] = {};
  }
  void set_prune(uint16_t l2_xid, std::vector<uint16_t> ports) override { prune_[l2_xid] = std::move(ports); }

  bool exists(uint16_t mgid) const { return mgid < groups_.size() && groups_[mgid].exists; }
  // At most so many copies leave.
  size_t count(uint16_t mgid) const { return mgid < groups_.size() ? groups_[mgid].replicas.size() : 0; }

  // All copies, where nothing can leave one out; else none (replicate() then).
  std::span<const Replica> plain(uint16_t mgid) const {
    if (mgid >= groups_.size() || !groups_[mgid].plain || !prune_.empty()) return {};
    return groups_[mgid].replicas;
  }
  // Calls function(Replica) for each copy of a packet sent to mgid.
  template <typename Function>
  void replicate(uint16_t mgid, uint16_t l1_xid, uint16_t rid, uint16_t l2_xid, Function function) const {
    if (mgid >= groups_.size()) return;
    const Group& group = groups_[mgid];
    const auto prune = prune_.empty() ? prune_.end() : prune_.find(l2_xid);
    for (size_t i = 0; i < group.replicas.size(); ++i) {
      const Replica& replica = group.replicas[i];
      if (group.xids[i].valid && group.xids[i].xid == l1_xid) continue;
      if ((replica.rid == rid || rid == global_rid_) && prune != prune_.end() &&
          std::find(prune->second.begin(), prune->second.end(), replica.port) != prune->second.end())
        continue;
      function(replica);
    }
  }

  // A packet with this RID has all nodes pruned, not those of its own RID alone ($pre.mgid's device
  // attribute).
  void set_global_rid(uint16_t rid) { global_rid_ = rid; }

 private:
  struct Xid {
    uint16_t xid;
    bool valid;
  };
  struct Group {
    bool exists = false;
    bool plain = true;  // no XIDs
    std::vector<Replica> replicas;
    std::vector<Xid> xids;  // of the replicas
  };
  uint32_t global_rid_ = ~0u;                                   // none
  std::vector<Group> groups_;                                   // by mgid
  absl::flat_hash_map<uint16_t, std::vector<uint16_t>> prune_;  // level-2 XID -> ports left out
};

}  // namespace l3dml::tna
