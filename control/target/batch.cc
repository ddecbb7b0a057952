#include "control/target/batch.h"

namespace l3dml::control::target {

uint64_t FieldValue::number() const {
  if (const auto* number = std::get_if<uint64_t>(&storage_)) return *number;
  if (const auto* flag = std::get_if<bool>(&storage_)) return *flag ? 1 : 0;
  uint64_t value = 0;
  if (const auto* bytes = std::get_if<std::string>(&storage_)) {
    for (unsigned char byte : *bytes) value = value << 8 | byte;
  }
  return value;
}

std::string FieldValue::text() const {
  const auto* text = std::get_if<std::string>(&storage_);
  return text == nullptr ? std::string() : *text;
}

std::vector<uint32_t> FieldValue::numbers() const {
  const auto* list = std::get_if<std::vector<uint32_t>>(&storage_);
  return list == nullptr ? std::vector<uint32_t>{} : *list;
}

std::vector<bool> FieldValue::flags() const {
  const auto* list = std::get_if<std::vector<bool>>(&storage_);
  return list == nullptr ? std::vector<bool>{} : *list;
}

bool names(std::string_view full, std::string_view suffix) {
  return full == suffix || (full.size() > suffix.size() && full.ends_with(suffix) &&
                            full[full.size() - suffix.size() - 1] == '.');
}

Key& Key::add(KeyField field) {
  fields_.push_back(std::move(field));
  return *this;
}

Key& Key::exact(std::string_view field, FieldValue value) {
  return add({.name = std::string(field), .kind = KeyField::Kind::exact, .value = std::move(value)});
}

Key& Key::ternary(std::string_view field, FieldValue value, FieldValue mask) {
  return add({.name = std::string(field),
              .kind = KeyField::Kind::ternary,
              .value = std::move(value),
              .mask = std::move(mask)});
}

Key& Key::lpm(std::string_view field, FieldValue value, int prefix_length) {
  return add({.name = std::string(field),
              .kind = KeyField::Kind::lpm,
              .value = std::move(value),
              .prefix_length = prefix_length});
}

Key& Key::range(std::string_view field, FieldValue low, FieldValue high) {
  return add({.name = std::string(field),
              .kind = KeyField::Kind::range,
              .value = std::move(low),
              .mask = std::move(high)});
}

Key& Key::optional(std::string_view field, FieldValue value) {
  return add({.name = std::string(field), .kind = KeyField::Kind::optional, .value = std::move(value)});
}

const KeyField* Key::find(std::string_view field) const {
  for (const KeyField& candidate : fields_) {
    if (names(candidate.name, field)) return &candidate;
  }
  return nullptr;
}

Action& Action::param(std::string_view field, FieldValue value) {
  fields_.emplace_back(field, std::move(value));
  return *this;
}

FieldValue Action::get(std::string_view field) const {
  for (const auto& [name, value] : fields_) {
    if (names(name, field)) return value;
  }
  return {};
}

bool Action::has(std::string_view field) const {
  for (const auto& [name, value] : fields_) {
    if (names(name, field)) return true;
  }
  return false;
}

Batch& Batch::add(Update update) {
  updates_.push_back(std::move(update));
  return *this;
}

Batch& Batch::insert(std::string_view table, Key key, Action action) {
  return add({.kind = Update::Kind::insert,
              .table = std::string(table),
              .key = std::move(key),
              .action = std::move(action)});
}

Batch& Batch::modify(std::string_view table, Key key, Action action) {
  return add({.kind = Update::Kind::modify,
              .table = std::string(table),
              .key = std::move(key),
              .action = std::move(action)});
}

Batch& Batch::upsert(std::string_view table, Key key, Action action) {
  return add({.kind = Update::Kind::upsert,
              .table = std::string(table),
              .key = std::move(key),
              .action = std::move(action)});
}

Batch& Batch::remove(std::string_view table, Key key) {
  return add({.kind = Update::Kind::remove, .table = std::string(table), .key = std::move(key)});
}

Batch& Batch::clear(std::string_view table) {
  return add({.kind = Update::Kind::clear, .table = std::string(table)});
}

Batch& Batch::set_default(std::string_view table, Action action) {
  return add({.kind = Update::Kind::set_default, .table = std::string(table), .action = std::move(action)});
}

Batch& Batch::reset_default(std::string_view table) {
  return add({.kind = Update::Kind::reset_default, .table = std::string(table)});
}

Batch& Batch::add_members(std::string_view table, Key key, Action members) {
  return add({.kind = Update::Kind::add_members,
              .table = std::string(table),
              .key = std::move(key),
              .action = std::move(members)});
}

Batch& Batch::remove_members(std::string_view table, Key key, Action members) {
  return add({.kind = Update::Kind::remove_members,
              .table = std::string(table),
              .key = std::move(key),
              .action = std::move(members)});
}

Batch& Batch::write_register(std::string_view table, uint32_t index, uint64_t first, uint64_t second) {
  return add({.kind = Update::Kind::write_cell,
              .table = std::string(table),
              .index = index,
              .cells = {first, second}});
}

Batch& Batch::write_counter(std::string_view table, uint32_t index, uint64_t bytes, uint64_t packets) {
  return add({.kind = Update::Kind::write_cell,
              .table = std::string(table),
              .action = Action{}.param("$COUNTER_SPEC_BYTES", bytes).param("$COUNTER_SPEC_PKTS", packets),
              .index = index});
}

Batch& Batch::operation(std::string_view table, std::string_view name) {
  return add({.kind = Update::Kind::operation, .table = std::string(table), .action = Action{name}});
}

Batch& Batch::on_pipe(uint32_t pipe) {
  updates_.back().pipe = pipe;
  return *this;
}

Batch& Batch::add_group(uint16_t group, const std::vector<Node>& nodes) {
  std::vector<uint32_t> ids, xids;
  std::vector<bool> valid;
  for (const Node& node : nodes) {
    insert("$pre.node", Key{}.exact("$MULTICAST_NODE_ID", node.id),
           Data{}
               .param("$MULTICAST_RID", node.rid)
               .param("$MULTICAST_LAG_ID", std::vector<uint32_t>{})
               .param("$DEV_PORT", node.ports));
    ids.push_back(node.id);
    valid.push_back(node.xid.has_value());
    xids.push_back(node.xid.value_or(0));
  }
  return insert("$pre.mgid", Key{}.exact("$MGID", group),
                Data{}
                    .param("$MULTICAST_NODE_ID", ids)
                    .param("$MULTICAST_NODE_L1_XID_VALID", valid)
                    .param("$MULTICAST_NODE_L1_XID", xids));
}

Batch& Batch::remove_group(uint16_t group, const std::vector<uint32_t>& node_ids) {
  remove("$pre.mgid", Key{}.exact("$MGID", group));
  for (uint32_t id : node_ids) remove("$pre.node", Key{}.exact("$MULTICAST_NODE_ID", id));
  return *this;
}

void Batch::append(const Batch& other) {
  updates_.insert(updates_.end(), other.updates_.begin(), other.updates_.end());
}

}  // namespace l3dml::control::target
