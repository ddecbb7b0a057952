#include "dataplane/server/replication_tables.h"

#include <algorithm>

#include "dataplane/server/cell_table.h"
#include "dataplane/server/entry_table.h"
#include "dataplane/server/port_map.h"
#include "dataplane/server/preset_table.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Field ids of the fixed tables.
constexpr uint32_t kGroupNodes = 1, kGroupNodeXidValid = 2, kGroupNodeXid = 3;
constexpr uint32_t kGroupEcmps = 4, kGroupEcmpXidValid = 5, kGroupEcmpXid = 6;
constexpr uint32_t kNodeRid = 1, kNodeLags = 2, kNodePorts = 3;
constexpr uint32_t kEcmpNodes = 1;
constexpr uint32_t kLagPorts = 1, kLagLeft = 2, kLagRight = 3;
constexpr uint32_t kBackupPort = 1, kForwardState = 2;
constexpr uint32_t kPrunePorts = 1;

uint32_t id_of(const Key& key) { return static_cast<uint32_t>(to_uint(key.fields[0].value)); }

Key id_key(uint32_t id, size_t byte_count) {
  Key key;
  key.fields.resize(1);
  key.fields[0].value = from_uint(id, byte_count);
  key.index = key.fields[0].value;
  return key;
}

class GroupTable;
class NodeTable;

// A port that does not forward gets no copies; with fast failover on, its backup gets them.
class PrePortTable : public PresetTable {
 public:
  PrePortTable(const TableInfo& info, const Device& device)
      : PresetTable(info, device, number_keys(all_ports(device.pipes), 4)) {
    set_initial(kBackupPort, std::monostate());  // until one is given, a port is its own
  }

  std::optional<uint32_t> replacement(uint32_t port) const;

 protected:
  absl::Status check(Place, const Data& full, const Data&) override {
    const uint64_t port = get_uint(full.fields, kBackupPort);
    if (!PortMap{device_.pipes}.valid(static_cast<uint32_t>(port)))
      return error(absl::StatusCode::kInvalidArgument, concat("device port ", port, " does not exist"));
    return absl::OkStatus();
  }
  void changed(WriteContext& context, Place place) override;
  bool presents() const override { return true; }
  void present(Place place, Fields& fields) override {
    if (std::holds_alternative<std::monostate>(*find_field(fields, kBackupPort)))
      set_field(fields, kBackupPort, keys()[place.index].fields[0].value);
  }

 private:
  static std::vector<uint32_t> all_ports(unsigned pipes) {
    std::vector<uint32_t> ports;
    for (uint32_t port = 0; port < 512; ++port)
      if (PortMap{pipes}.valid(port)) ports.push_back(port);
    return ports;
  }
};

class LagTable : public CellTable {
 public:
  using CellTable::CellTable;
  absl::Status clear(WriteContext&) override { return unsupported("clear"); }
  // The member for this hash, none if it is another device's: members left and right of ours are remote.
  std::optional<uint32_t> pick(uint32_t lag, uint32_t hash) const {
    if (lag >= info_.size) return std::nullopt;
    const std::vector<uint32_t> members = get_uints(cell(lag), kLagPorts);
    const uint64_t left = get_uint(cell(lag), kLagLeft), right = get_uint(cell(lag), kLagRight);
    const uint64_t all = left + members.size() + right;
    if (all == 0) return std::nullopt;
    const uint64_t slot = hash % all;
    if (slot < left || slot - left >= members.size()) return std::nullopt;
    return members[slot - left];
  }

 protected:
  void changed(WriteContext& context, std::optional<uint32_t> index) override;
};

class NodeTable : public EntryTable {
 public:
  using EntryTable::EntryTable;
  absl::Status clear(WriteContext&) override { return unsupported("clear"); }

  bool exists(uint32_t id) const { return find(id_key(id, 4)) != nullptr; }

  tna::ReplicationTwin::Node resolve(uint32_t id) const {
    tna::ReplicationTwin::Node node;
    const Row* const row = find(id_key(id, 4));
    if (row == nullptr) return node;
    node.rid = static_cast<uint16_t>(get_uint(row->data.fields, kNodeRid));
    for (uint32_t port : get_uints(row->data.fields, kNodePorts)) add_copy(node, port);
    auto* lags = static_cast<LagTable*>(device_.table("$pre.lag"));
    for (uint32_t lag : get_uints(row->data.fields, kNodeLags)) {
      // One member per node, spread by node id: the engine has no per-packet hash.
      if (const auto port = lags->pick(lag, id)) add_copy(node, *port);
    }
    return node;
  }

  std::vector<uint32_t> with_lag(std::optional<uint32_t> lag) const {
    std::vector<uint32_t> out;
    for (const auto& [handle, row] : rows()) {
      const std::vector<uint32_t> lags = get_uints(row.data.fields, kNodeLags);
      const bool uses = lag ? std::find(lags.begin(), lags.end(), *lag) != lags.end() : !lags.empty();
      if (uses) out.push_back(id_of(row.key));
    }
    return out;
  }

 protected:
  absl::Status check_row(const Key&, const Data& data, const Row*) override {
    for (uint32_t port : get_uints(data.fields, kNodePorts)) {
      if (port > 511 || port >> 7 >= device_.pipes || (port & 0x7f) > 71) {
        return error(absl::StatusCode::kInvalidArgument, concat("device port ", port, " does not exist"));
      }
    }
    return absl::OkStatus();
  }
  absl::Status check_remove(const Row& row) override;
  void stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) override;

 private:
  void add_copy(tna::ReplicationTwin::Node& node, uint32_t port) const;  // or its backup's, or none
};

class EcmpTable : public EntryTable {
 public:
  using EntryTable::EntryTable;
  absl::Status clear(WriteContext&) override { return unsupported("clear"); }
  absl::Status modify_inc(WriteContext& context, const Key& key, const Data& data) override {
    const Row* const row = find(key);
    if (row == nullptr) return error(absl::StatusCode::kNotFound, "no such entry");
    std::vector<uint32_t> nodes = get_uints(row->data.fields, kEcmpNodes);
    for (uint32_t node : get_uints(data.fields, kEcmpNodes)) {
      const auto found = std::find(nodes.begin(), nodes.end(), node);
      if (context.remove_members) {
        if (found == nodes.end())
          return error(absl::StatusCode::kNotFound, concat("node ", node, " is no member"));
        nodes.erase(found);
      } else {
        if (found != nodes.end()) {
          return error(absl::StatusCode::kAlreadyExists, concat("node ", node, " is a member"));
        }
        nodes.push_back(node);
      }
    }
    return modify(context, key, Data{0, {{kEcmpNodes, std::move(nodes)}}});
  }
  bool exists(uint32_t id) const { return find(id_key(id, 4)) != nullptr; }
  std::vector<uint32_t> nodes(uint32_t id) const {
    const Row* const row = find(id_key(id, 4));
    return row == nullptr ? std::vector<uint32_t>{} : get_uints(row->data.fields, kEcmpNodes);
  }

 protected:
  absl::Status check_row(const Key&, const Data& data, const Row*) override {
    auto* known = static_cast<NodeTable*>(device_.table("$pre.node"));
    for (uint32_t node : get_uints(data.fields, kEcmpNodes)) {
      if (!known->exists(node)) return error(absl::StatusCode::kNotFound, concat("no node ", node));
    }
    return absl::OkStatus();
  }
  absl::Status check_remove(const Row& row) override;
  void stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) override;
};

class GroupTable : public EntryTable {
 public:
  bool fails_over() const {
    const auto* config = attribute(bfrt_proto::TableAttribute::kPreDeviceConfig);
    return config != nullptr && config->pre_device_config().pre_fast_failover().enable();
  }
  void publish_all(WriteContext& context) {
    for (const auto& [handle, row] : rows()) publish(context, static_cast<uint16_t>(id_of(row.key)));
  }

  GroupTable(const TableInfo& info, const Device& device)
      : EntryTable(info, device), twin_(device.twin == nullptr ? nullptr : device.twin->replication()) {}

  absl::Status clear(WriteContext&) override { return unsupported("clear"); }

  // Members are given as arrays of equal length; a missing group answers as the original does.
  absl::Status modify_inc(WriteContext& context, const Key& key, const Data& data) override {
    const Row* const row = find(key);
    if (row == nullptr) return error(absl::StatusCode::kAlreadyExists, "no such group");
    if (absl::Status status = check_lengths(data.fields); !status.ok()) return status;
    Fields fields = row->data.fields;
    for (const auto& ids : {std::array{kGroupNodes, kGroupNodeXidValid, kGroupNodeXid},
                            std::array{kGroupEcmps, kGroupEcmpXidValid, kGroupEcmpXid}}) {
      std::vector<uint32_t> members = get_uints(fields, ids[0]), xids = get_uints(fields, ids[2]);
      std::vector<bool> valid = get_bools(fields, ids[1]);
      const std::vector<uint32_t> given = get_uints(data.fields, ids[0]),
                                  given_xids = get_uints(data.fields, ids[2]);
      const std::vector<bool> given_valid = get_bools(data.fields, ids[1]);
      for (size_t i = 0; i < given.size(); ++i) {
        const auto found = std::find(members.begin(), members.end(), given[i]);
        if (context.remove_members) {
          if (found == members.end()) {
            return error(absl::StatusCode::kNotFound, concat(given[i], " is no member of the group"));
          }
          const auto offset = found - members.begin();
          members.erase(found);
          valid.erase(valid.begin() + offset);
          xids.erase(xids.begin() + offset);
        } else {
          if (found != members.end()) {
            return error(absl::StatusCode::kAlreadyExists, concat(given[i], " is a member of the group"));
          }
          members.push_back(given[i]);
          valid.push_back(given_valid[i]);
          xids.push_back(given_xids[i]);
        }
      }
      set_field(fields, ids[0], std::move(members));
      set_field(fields, ids[1], std::move(valid));
      set_field(fields, ids[2], std::move(xids));
    }
    return modify(context, key, Data{0, std::move(fields)});
  }

  // The group a node (or ECMP set) belongs to.
  std::optional<uint16_t> owner(bool ecmp, uint32_t id) const {
    const auto& owners = ecmp ? ecmp_owner_ : node_owner_;
    const auto found = owners.find(id);
    return found == owners.end() ? std::nullopt : std::optional<uint16_t>(found->second);
  }

  // Tells the engine what the group is by the end of the request.
  void publish(WriteContext& context, uint16_t group) {
    if (twin_ == nullptr) return;
    context.transaction.on_commit([this, group] {
      const Row* const row = find(id_key(group, 2));
      if (row == nullptr) {
        twin_->remove_group(group);
      } else {
        twin_->set_group(group, resolve(row->data.fields));
      }
    });
  }

 protected:
  void attribute_changed(WriteContext& context) override { publish_all(context); }
  absl::Status check_row(const Key& key, const Data& data, const Row*) override {
    if (absl::Status status = check_lengths(data.fields); !status.ok()) return status;
    auto* nodes = static_cast<NodeTable*>(device_.table("$pre.node"));
    auto* ecmps = static_cast<EcmpTable*>(device_.table("$pre.ecmp"));
    for (bool ecmp : {false, true}) {
      std::vector<uint32_t> ids = get_uints(data.fields, ecmp ? kGroupEcmps : kGroupNodes);
      for (uint32_t id : ids) {
        if (ecmp ? !ecmps->exists(id) : !nodes->exists(id)) {
          return error(absl::StatusCode::kNotFound, concat("no ", ecmp ? "ECMP set " : "node ", id));
        }
        const auto group = owner(ecmp, id);
        if (group && *group != id_of(key)) {
          return error(absl::StatusCode::kAlreadyExists, concat(id, " is a member of group ", *group));
        }
      }
      std::sort(ids.begin(), ids.end());
      if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
        return error(absl::StatusCode::kInvalidArgument, "a member is given twice");
      }
    }
    return absl::OkStatus();
  }

  void stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) override {
    const auto group = static_cast<uint16_t>(id_of(row.key));
    if (old != nullptr) disown(context, group, old->fields);
    own(group, row.data.fields);
    context.transaction.on_undo([this, fields = row.data.fields] { release(fields); });
    publish(context, group);
  }
  void removed(WriteContext& context, tna::Handle, const Row& row) override {
    const auto group = static_cast<uint16_t>(id_of(row.key));
    disown(context, group, row.data.fields);
    publish(context, group);
  }

 private:
  absl::Status check_lengths(const Fields& fields) const {
    for (const auto& ids : {std::array{kGroupNodes, kGroupNodeXidValid, kGroupNodeXid},
                            std::array{kGroupEcmps, kGroupEcmpXidValid, kGroupEcmpXid}}) {
      const size_t count = get_uints(fields, ids[0]).size();
      if (get_bools(fields, ids[1]).size() != count || get_uints(fields, ids[2]).size() != count) {
        return error(absl::StatusCode::kInvalidArgument, "member, xid and xid-valid arrays differ in length");
      }
    }
    return absl::OkStatus();
  }

  void own(uint16_t group, const Fields& fields) {
    for (uint32_t id : get_uints(fields, kGroupNodes)) node_owner_[id] = group;
    for (uint32_t id : get_uints(fields, kGroupEcmps)) ecmp_owner_[id] = group;
  }
  void release(const Fields& fields) {
    for (uint32_t id : get_uints(fields, kGroupNodes)) node_owner_.erase(id);
    for (uint32_t id : get_uints(fields, kGroupEcmps)) ecmp_owner_.erase(id);
  }
  void disown(WriteContext& context, uint16_t group, const Fields& fields) {
    release(fields);
    context.transaction.on_undo([this, group, fields] { own(group, fields); });
  }

  std::vector<tna::ReplicationTwin::Node> resolve(const Fields& fields) const {
    std::vector<tna::ReplicationTwin::Node> out;
    auto* nodes = static_cast<NodeTable*>(device_.table("$pre.node"));
    auto* ecmps = static_cast<EcmpTable*>(device_.table("$pre.ecmp"));
    auto add = [&](uint32_t node_id, bool xid_valid, uint32_t xid) {
      tna::ReplicationTwin::Node node = nodes->resolve(node_id);
      node.xid_valid = xid_valid;
      node.xid = static_cast<uint16_t>(xid);
      out.push_back(std::move(node));
    };
    const std::vector<uint32_t> ids = get_uints(fields, kGroupNodes), xids = get_uints(fields, kGroupNodeXid);
    const std::vector<bool> valid = get_bools(fields, kGroupNodeXidValid);
    for (size_t i = 0; i < ids.size(); ++i) add(ids[i], valid[i], xids[i]);
    const std::vector<uint32_t> sets = get_uints(fields, kGroupEcmps),
                                set_xids = get_uints(fields, kGroupEcmpXid);
    const std::vector<bool> set_valid = get_bools(fields, kGroupEcmpXidValid);
    for (size_t i = 0; i < sets.size(); ++i) {
      // One node per set, spread by set id: the engine has no per-packet hash.
      const std::vector<uint32_t> members = ecmps->nodes(sets[i]);
      if (!members.empty()) add(members[sets[i] % members.size()], set_valid[i], set_xids[i]);
    }
    return out;
  }

  tna::ReplicationTwin* const twin_;
  absl::flat_hash_map<uint32_t, uint16_t> node_owner_;
  absl::flat_hash_map<uint32_t, uint16_t> ecmp_owner_;
};

class PruneTable : public CellTable {
 public:
  PruneTable(const TableInfo& info, const Device& device)
      : CellTable(info, device), twin_(device.twin == nullptr ? nullptr : device.twin->replication()) {}
  absl::Status clear(WriteContext&) override { return unsupported("clear"); }

 protected:
  void changed(WriteContext& context, std::optional<uint32_t> index) override {
    if (twin_ == nullptr || !index) return;
    std::vector<uint16_t> ports;
    for (uint32_t port : get_uints(cell(*index), kPrunePorts)) ports.push_back(static_cast<uint16_t>(port));
    context.transaction.on_commit([twin = twin_, xid = static_cast<uint16_t>(*index),
                                   ports = std::move(ports)] { twin->set_prune(xid, ports); });
  }

 private:
  tna::ReplicationTwin* const twin_;
};

std::optional<uint32_t> PrePortTable::replacement(uint32_t port) const {
  const Place place{0, static_cast<size_t>(port >> 7) * PortMap::kPortsPerPipe + (port & 0x7f)};
  const Fields& fields = row(place).fields;
  if (get_bool(fields, kForwardState, true)) return port;
  auto* groups = static_cast<GroupTable*>(device_.table("$pre.mgid"));
  const uint64_t backup = get_uint(fields, kBackupPort, port);
  if (!groups->fails_over() || backup == port) return std::nullopt;
  return static_cast<uint32_t>(backup);
}

void PrePortTable::changed(WriteContext& context, Place) {
  static_cast<GroupTable*>(device_.table("$pre.mgid"))->publish_all(context);
}

void NodeTable::add_copy(tna::ReplicationTwin::Node& node, uint32_t port) const {
  const auto* ports = static_cast<PrePortTable*>(device_.table("$pre.port"));
  if (const auto to = ports->replacement(port)) node.ports.push_back(static_cast<uint16_t>(*to));
}

void republish_node(WriteContext& context, const Device& device, uint32_t node) {
  auto* groups = static_cast<GroupTable*>(device.table("$pre.mgid"));
  if (const auto group = groups->owner(false, node)) groups->publish(context, *group);
}

void LagTable::changed(WriteContext& context, std::optional<uint32_t> index) {
  auto* nodes = static_cast<NodeTable*>(device_.table("$pre.node"));
  for (uint32_t node : nodes->with_lag(index)) republish_node(context, device_, node);
}

absl::Status NodeTable::check_remove(const Row& row) {
  auto* groups = static_cast<GroupTable*>(device_.table("$pre.mgid"));
  if (const auto group = groups->owner(false, id_of(row.key))) {
    return error(absl::StatusCode::kAlreadyExists, concat("the node is a member of group ", *group));
  }
  return absl::OkStatus();
}

void NodeTable::stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) {
  if (old != nullptr) republish_node(context, device_, id_of(row.key));
}

absl::Status EcmpTable::check_remove(const Row& row) {
  auto* groups = static_cast<GroupTable*>(device_.table("$pre.mgid"));
  if (const auto group = groups->owner(true, id_of(row.key))) {
    return error(absl::StatusCode::kAlreadyExists, concat("the set is a member of group ", *group));
  }
  return absl::OkStatus();
}

void EcmpTable::stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) {
  if (old == nullptr) return;
  auto* groups = static_cast<GroupTable*>(device_.table("$pre.mgid"));
  if (const auto group = groups->owner(true, id_of(row.key))) groups->publish(context, *group);
}

}  // namespace

std::unique_ptr<Table> make_replication_table(const TableInfo& info, const Device& device) {
  if (info.type == "PreMgid") return std::make_unique<GroupTable>(info, device);
  if (info.type == "PreNode") return std::make_unique<NodeTable>(info, device);
  if (info.type == "PreEcmp") return std::make_unique<EcmpTable>(info, device);
  if (info.type == "PreLag") return std::make_unique<LagTable>(info, device);
  if (info.type == "PrePrune") return std::make_unique<PruneTable>(info, device);
  if (info.type == "PrePort") return std::make_unique<PrePortTable>(info, device);
  return nullptr;
}

}  // namespace l3dml::server
