#include "control/install/install.h"

#include <algorithm>
#include <bit>
#include <map>

#include "absl/strings/str_cat.h"

namespace l3dml::control {
namespace {

using target::Action;
using target::Batch;
using target::Key;
using target::KeyField;
using target::SchemaTable;

// Admission is removed first and installed last, so that nothing is admitted to what is not there.
constexpr const char* kTables[] = {"pipe.Ingress.admission.admission", "pipe.Ingress.admission.generated",
                                   "pipe.Ingress.admission.owner",     "pipe.Ingress.job.job",
                                   "pipe.Egress.replica.replica",      "pipe.Ingress.forwarder.host6",
                                   "pipe.Ingress.forwarder.prefix6",   "pipe.Ingress.forwarder.local6",
                                   "pipe.Ingress.forwarder.host4",     "pipe.Ingress.forwarder.prefix4",
                                   "pipe.Ingress.forwarder.local4"};

int order_of(const std::string& table) {
  return static_cast<int>(std::find(std::begin(kTables), std::end(kTables), table) - std::begin(kTables));
}

bool has_table(target::SwitchTarget& device, const std::string& name) {
  return device.schema()->table(name).ok();
}

Key to_key(const EntryKey& entry) {
  Key key;
  for (const Match& m : entry.matches) {
    switch (m.kind) {
      case MatchKind::exact:
        key.exact(m.field, m.value);
        break;
      case MatchKind::ternary:
        key.ternary(m.field, m.value, m.mask);
        break;
      case MatchKind::lpm:
        key.lpm(m.field, m.value, m.prefix_length);
        break;
    }
  }
  return key;
}

Action to_action(const EntryData& data) {
  Action action(data.action);
  for (const auto& [name, value] : data.params) action.param(name, value);
  return action;
}

Bytes to_bytes(const target::FieldValue& value, unsigned width) {
  const auto length = static_cast<size_t>((width + 7) / 8);
  if (const auto* text = std::get_if<std::string>(&value.storage())) {
    if (text->size() >= length) return text->substr(text->size() - length);
    return Bytes(length - text->size(), '\0') + *text;
  }
  return width > 64 ? Bytes(length - 8, '\0') + be(value.number(), 64)
                    : be(value.number(), static_cast<int>(width));
}

unsigned width_of(const SchemaTable& table, const std::string& field) {
  if (field == "$MATCH_PRIORITY") return 32;
  const auto found = table.key_field(field);
  return found.ok() ? (*found)->width : 32;
}

Entry to_entry(const SchemaTable& table, const target::Row& row) {
  Entry entry;
  entry.key.table = table.name;
  for (const KeyField& f : row.key.fields()) {
    const unsigned width = width_of(table, f.name);
    Match m{f.name, MatchKind::exact, to_bytes(f.value, width), {}, 0};
    if (f.kind == KeyField::Kind::ternary) {
      m.kind = MatchKind::ternary;
      m.mask = to_bytes(f.mask, width);
    } else if (f.kind == KeyField::Kind::lpm) {
      m.kind = MatchKind::lpm;
      m.prefix_length = f.prefix_length;
    }
    entry.key.matches.push_back(std::move(m));
  }
  entry.data.action = row.action.name();
  const auto action = table.action(row.action.name());
  for (const auto& [name, value] : row.action.fields()) {
    if (!action.ok()) break;
    for (const target::SchemaField& field : (*action)->data)
      if (field.name == name) entry.data.params.emplace_back(name, to_bytes(value, field.width));
  }
  return entry;
}

// A replica's node is named by its neighbour, which is unique on the device.
std::vector<Batch::Node> nodes_of(const MulticastGroup& group) {
  std::vector<Batch::Node> nodes;
  for (const Replica& r : group.replicas) nodes.push_back({r.rid, r.rid, {r.port}, std::nullopt});
  return nodes;
}

// Registers hold one value per pipe.
absl::StatusOr<uint32_t> pipes_of(target::SwitchTarget& device) {
  const auto cells = device.read_registers("pipe.Ingress.slot_state.stamp", 0, 1);
  if (!cells.ok()) return cells.status();
  return std::bit_floor(
      static_cast<uint32_t>(std::max<size_t>(1, cells->empty() ? 1 : cells->front().size())));
}

absl::Status read_groups(target::SwitchTarget& device, DeviceEntries* out) {
  auto nodes = device.read("$pre.node");
  if (!nodes.ok()) return nodes.status();
  std::map<uint32_t, Replica> replicas;  // by node id
  for (const target::Row& row : *nodes) {
    if (row.is_default || row.key.fields().empty()) continue;
    const std::vector<uint32_t> ports = row.action.get("$DEV_PORT").numbers();
    replicas[static_cast<uint32_t>(row.key.fields()[0].value.number())] = {
        static_cast<uint16_t>(row.action.get("$MULTICAST_RID").number()),
        static_cast<uint16_t>(ports.empty() ? 0 : ports[0])};
  }
  auto groups = device.read("$pre.mgid");
  if (!groups.ok()) return groups.status();
  for (const target::Row& row : *groups) {
    if (row.is_default || row.key.fields().empty()) continue;
    MulticastGroup group{static_cast<uint16_t>(row.key.fields()[0].value.number()), {}};
    for (const uint32_t id : row.action.get("$MULTICAST_NODE_ID").numbers())
      if (const auto found = replicas.find(id); found != replicas.end())
        group.replicas.push_back(found->second);
    out->groups.push_back(std::move(group));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceEntries> read_installed(target::SwitchTarget& device) {
  DeviceEntries installed;
  for (const char* name : kTables) {
    const auto table = device.schema()->table(name);
    if (!table.ok()) continue;
    auto rows = device.read(name);
    if (!rows.ok()) return rows.status();
    for (const target::Row& row : *rows)
      if (!row.is_default) installed.entries.push_back(to_entry(**table, row));
  }
  if (absl::Status s = read_groups(device, &installed); !s.ok()) return s;
  return installed;
}

absl::Status apply(target::SwitchTarget& device, const Change& change) {
  Batch batch;
  std::vector<EntryKey> removed = change.removed;
  std::stable_sort(removed.begin(), removed.end(), [](const EntryKey& a, const EntryKey& b) {
    return order_of(a.table) < order_of(b.table);
  });
  for (const EntryKey& key : removed)
    if (has_table(device, key.table)) batch.remove(key.table, to_key(key));

  // A group that changes is removed with its nodes and made anew; the batch is seen as a whole.
  DeviceEntries present;
  if (!change.groups_removed.empty() || !change.groups_set.empty())
    if (absl::Status s = read_groups(device, &present); !s.ok()) return s;
  for (const MulticastGroup& group : present.groups) {
    const bool replaced = std::any_of(change.groups_set.begin(), change.groups_set.end(),
                                      [&](const MulticastGroup& g) { return g.mgid == group.mgid; });
    if (!replaced && std::find(change.groups_removed.begin(), change.groups_removed.end(), group.mgid) ==
                         change.groups_removed.end())
      continue;
    std::vector<uint32_t> ids;
    for (const Replica& r : group.replicas) ids.push_back(r.rid);
    batch.remove_group(group.mgid, ids);
  }
  for (const MulticastGroup& group : change.groups_set) batch.add_group(group.mgid, nodes_of(group));

  struct Write {
    const Entry* entry;
    bool is_new;
  };
  std::vector<Write> writes;
  for (const Entry& e : change.modified) writes.push_back({&e, false});
  for (const Entry& e : change.added) writes.push_back({&e, true});
  std::stable_sort(writes.begin(), writes.end(), [](const Write& a, const Write& b) {
    return order_of(a.entry->key.table) > order_of(b.entry->key.table);
  });
  for (const Write& w : writes) {
    if (!has_table(device, w.entry->key.table)) continue;
    if (w.is_new)
      batch.insert(w.entry->key.table, to_key(w.entry->key), to_action(w.entry->data));
    else
      batch.modify(w.entry->key.table, to_key(w.entry->key), to_action(w.entry->data));
  }
  return batch.empty() ? absl::OkStatus() : device.write(batch);
}

absl::StatusOr<size_t> reconcile(target::SwitchTarget& device, const DeviceEntries& wanted) {
  auto installed = read_installed(device);
  if (!installed.ok()) return installed.status();
  return reconcile(device, wanted, *installed);
}

absl::StatusOr<size_t> reconcile(target::SwitchTarget& device, const DeviceEntries& wanted,
                                 const DeviceEntries& installed) {
  DeviceEntries possible = wanted;  // without what the device's program has built in
  std::erase_if(possible.entries, [&](const Entry& e) { return !has_table(device, e.key.table); });
  const Change change = diff(installed, possible);
  if (absl::Status s = apply(device, change); !s.ok()) return s;
  return change.added.size() + change.modified.size() + change.removed.size() + change.groups_set.size() +
         change.groups_removed.size();
}

absl::Status zero_segments(target::SwitchTarget& device, std::span<const uint16_t> neighbors) {
  Batch batch;
  for (const uint16_t neighbor : neighbors) {
    batch.write_register("pipe.Ingress.segment_receiver.expected", neighbor, 0);
    batch.write_register("pipe.Egress.segment_sender.tx_seq", neighbor, 0);
  }
  return batch.empty() ? absl::OkStatus() : device.write(batch);
}

absl::Status write_stamps(target::SwitchTarget& device, uint32_t slot_base, uint32_t count, uint32_t stamp) {
  Batch batch;
  for (uint32_t i = 0; i < count; ++i)
    batch.write_register("pipe.Ingress.slot_state.stamp", slot_base + i, stamp);
  return batch.empty() ? absl::OkStatus() : device.write(batch);
}

absl::StatusOr<Capability> read_capability(target::SwitchTarget& device) {
  Capability c;
  c.name = device.program();
  const auto schema = device.schema();
  const auto size = [&](const char* name, uint32_t* value) -> absl::Status {
    const auto table = schema->table(name);
    if (!table.ok()) return table.status();
    *value = (*table)->size;
    return absl::OkStatus();
  };
  if (absl::Status s = size("pipe.Ingress.slot_state.stamp", &c.slots); !s.ok()) return s;
  if (absl::Status s = size("pipe.Egress.segment_sender.tx_seq", &c.neighbors); !s.ok()) return s;
  if (absl::Status s = size("pipe.Egress.segment_sender.ring", &c.seq_entries); !s.ok()) return s;
  c.slots = std::bit_floor(c.slots);
  c.seq_entries = std::bit_floor(c.seq_entries);
  if (has_table(device, "pipe.Ingress.job.job"))
    if (absl::Status s = size("pipe.Ingress.job.job", &c.jobs); !s.ok()) return s;
  // Where shards are steered between pipes, that takes a row per shard and foreign pipe.
  const auto pipes = pipes_of(device);
  if (!pipes.ok()) return pipes.status();
  c.pipes = *pipes;
  uint32_t rows = 0;
  if (c.pipes > 1 && size("pipe.Ingress.admission.owner", &rows).ok())
    c.jobs = std::min(c.jobs, rows / (c.pipes * (c.pipes - 1)));
  // A register for every pair of lanes that a slot holds.
  uint32_t pairs = 0;
  for (const target::SchemaTable& table : schema->tables())
    pairs += table.name.starts_with("pipe.Ingress.aggregator.lanes");
  if (pairs != 0) c.lanes = c.lanes_per_pass = 2 * pairs;
  return c;
}

}  // namespace l3dml::control
