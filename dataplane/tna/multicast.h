// The packet replication engine: groups of nodes, each with a replication id and ports, level-1 exclusion by
// XID and level-2 pruning of ports (bfrt.md 4.5). Groups are copied in whole at quiescence, so a packet sees
// one or the other.
#pragma once

#include <cstdint>
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

  void set_group(uint16_t mgid, std::vector<Node> nodes) override { groups_[mgid] = std::move(nodes); }
  void remove_group(uint16_t mgid) override { groups_.erase(mgid); }
  void set_prune(uint16_t l2_xid, std::vector<uint16_t> ports) override { prune_[l2_xid] = std::move(ports); }

  // Calls function(Replica) for each copy of a packet sent to mgid.
  template <typename Function>
  void replicate(uint16_t mgid, uint16_t l1_xid, uint16_t rid, uint16_t l2_xid, Function function) const {
    const auto group = groups_.find(mgid);
    if (group == groups_.end()) return;
    for (const Node& node : group->second) {
      if (node.xid_valid && node.xid == l1_xid) continue;
      const std::vector<uint16_t>* pruned = nullptr;
      if (node.rid == rid) {
        const auto it = prune_.find(l2_xid);
        if (it != prune_.end()) pruned = &it->second;
      }
      for (const uint16_t port : node.ports) {
        if (pruned && std::find(pruned->begin(), pruned->end(), port) != pruned->end()) continue;
        function(Replica{node.rid, port});
      }
    }
  }
  const std::vector<Node>* group(uint16_t mgid) const {
    const auto it = groups_.find(mgid);
    return it == groups_.end() ? nullptr : &it->second;
  }

 private:
  absl::flat_hash_map<uint16_t, std::vector<Node>> groups_;
  absl::flat_hash_map<uint16_t, std::vector<uint16_t>> prune_;  // level-2 XID -> ports left out
};

}  // namespace l3dml::tna
