#include "dataplane/server/entry_table.h"

#include <algorithm>

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {

EntryTable::EntryTable(const TableInfo& info, const Device& device)
    : Table(info, device), twin_(device.twin == nullptr ? nullptr : device.twin->table(info.name)) {}

const EntryTable::Row* EntryTable::find(const Key& key) const {
  const auto found = by_key_.find(key.index);
  return found == by_key_.end() ? nullptr : &rows_.at(found->second);
}

// Old values are kept field by field, but parameters of another action mean nothing to the new one.
absl::StatusOr<Data> EntryTable::complete(const Data& given, const Data* old) const {
  Data out;
  out.action_id = given.action_id;
  if (out.action_id == 0 && old != nullptr) out.action_id = old->action_id;
  Fields kept;
  if (old != nullptr) {
    const ActionInfo* const action = info_.action(old->action_id);
    const bool same_action = old->action_id == out.action_id;
    for (const FieldValue& field : old->fields) {
      const bool parameter =
          action != nullptr && std::any_of(action->data.begin(), action->data.end(),
                                           [&](const FieldInfo& info) { return info.id == field.id; });
      if (!parameter || same_action) kept.push_back(field);
    }
  }
  Data named{out.action_id, given.fields};
  absl::StatusOr<Fields> fields = complete_fields(info_, named, old == nullptr ? nullptr : &kept);
  if (!fields.ok()) return fields.status();
  out.fields = *std::move(fields);
  return out;
}

absl::Status EntryTable::check_action(const Data& data, bool for_default) const {
  if (info_.actions.empty()) return absl::OkStatus();
  const ActionInfo* const action = info_.action(data.action_id);
  if (action == nullptr) {
    return error(absl::StatusCode::kInvalidArgument, "an action is needed");
  }
  if (for_default ? !action->as_default : !action->in_entries) {
    return error(
        absl::StatusCode::kInvalidArgument,
        concat("action ", action->name, for_default ? " cannot be the default" : " is only a default"));
  }
  return absl::OkStatus();
}

tna::Entry EntryTable::to_entry(const Key* key, const Data& data) const {
  tna::Entry entry;
  if (key != nullptr) {
    entry.key = key->fields;
    entry.priority = key->priority;
  }
  auto add = [&](const std::vector<FieldInfo>& fields) {
    for (const FieldInfo& info : fields) {
      const Value* const value = find_field(data.fields, info.id);
      const auto* bytes = value == nullptr ? nullptr : std::get_if<std::string>(value);
      entry.params.push_back(bytes == nullptr ? std::string(info.byte_count(), '\0') : *bytes);
    }
  };
  if (const ActionInfo* const action = info_.action(data.action_id)) {
    entry.action = action->name;
    add(action->data);
  } else if (info_.actions.empty()) {
    add(info_.data);  // port metadata: the fields are the data
  }
  return entry;
}

void EntryTable::put(WriteContext& context, tna::Handle handle, Row row) {
  const auto found = rows_.find(handle);
  if (found == rows_.end()) {
    by_key_.emplace(row.key.index, handle);
    if (twin_ != nullptr) {
      context.transaction.on_commit(
          [this, handle, entry = to_entry(&row.key, row.data)] { twin_->insert(handle, entry); });
    }
    const Row& stored_row = rows_.emplace(handle, std::move(row)).first->second;
    context.transaction.on_undo([this, handle] {
      by_key_.erase(rows_.at(handle).key.index);
      rows_.erase(handle);
    });
    stored(context, handle, stored_row, nullptr);
    return;
  }
  if (twin_ != nullptr) {
    context.transaction.on_commit(
        [this, handle, entry = to_entry(&row.key, row.data)] { twin_->modify(handle, entry); });
  }
  const Data old = std::exchange(found->second.data, std::move(row.data));
  context.transaction.on_undo([this, handle, old] { rows_.at(handle).data = old; });
  stored(context, handle, found->second, &old);
}

void EntryTable::erase(WriteContext& context, tna::Handle handle) {
  const auto found = rows_.find(handle);
  Row row = std::move(found->second);
  rows_.erase(found);
  by_key_.erase(row.key.index);
  if (twin_ != nullptr) {
    context.transaction.on_commit([this, handle] { twin_->remove(handle); });
  }
  context.transaction.on_undo([this, handle, row] {
    by_key_.emplace(row.key.index, handle);
    rows_.emplace(handle, row);
  });
  removed(context, handle, row);
}

absl::Status EntryTable::insert(WriteContext& context, Key key, const Data& data) {
  if (info_.is_const) return error(absl::StatusCode::kInvalidArgument, "its entries are constant");
  if (contains(key)) return error(absl::StatusCode::kAlreadyExists, "the entry exists");
  if (rows_.size() >= info_.size && info_.size != 0) {
    return error(absl::StatusCode::kResourceExhausted, concat("all ", info_.size, " entries are in use"));
  }
  absl::StatusOr<Data> full = complete(data, nullptr);
  if (!full.ok()) return full.status();
  if (absl::Status status = check_action(*full, false); !status.ok()) return status;
  if (absl::Status status = check_row(key, *full, nullptr); !status.ok()) return status;
  if (twin_ != nullptr) {
    if (absl::Status status = twin_->check(to_entry(&key, *full)); !status.ok()) return status;
  }
  put(context, next_handle_++, Row{std::move(key), *std::move(full)});
  return absl::OkStatus();
}

absl::Status EntryTable::modify(WriteContext& context, const Key& key, const Data& data) {
  if (info_.is_const) return error(absl::StatusCode::kInvalidArgument, "its entries are constant");
  const Row* const old = find(key);
  if (old == nullptr) return error(absl::StatusCode::kNotFound, "no such entry");
  absl::StatusOr<Data> full = complete(data, &old->data);
  if (!full.ok()) return full.status();
  if (absl::Status status = check_action(*full, false); !status.ok()) return status;
  if (absl::Status status = check_row(key, *full, old); !status.ok()) return status;
  if (twin_ != nullptr) {
    if (absl::Status status = twin_->check(to_entry(&key, *full)); !status.ok()) return status;
  }
  put(context, by_key_.at(key.index), Row{key, *std::move(full)});
  return absl::OkStatus();
}

absl::Status EntryTable::remove(WriteContext& context, const Key& key) {
  if (info_.is_const) return error(absl::StatusCode::kInvalidArgument, "its entries are constant");
  const Row* const row = find(key);
  if (row == nullptr) return error(absl::StatusCode::kNotFound, "no such entry");
  if (absl::Status status = check_remove(*row); !status.ok()) return status;
  erase(context, by_key_.at(key.index));
  return absl::OkStatus();
}

absl::Status EntryTable::clear(WriteContext& context) {
  if (info_.is_const) return absl::OkStatus();  // clients clear every table they list
  for (const auto& [handle, row] : rows_) {
    if (absl::Status status = check_remove(row); !status.ok()) return status;
  }
  while (!rows_.empty()) erase(context, rows_.begin()->first);
  return absl::OkStatus();
}

absl::Status EntryTable::set_default(WriteContext& context, const Data& data) {
  if (info_.kind != TableKind::match && info_.kind != TableKind::single)
    return unsupported("a default entry");
  if (info_.has_const_default)
    return error(absl::StatusCode::kInvalidArgument, "its default action is constant");
  absl::StatusOr<Data> full = complete(data, default_.has_value() ? &*default_ : nullptr);
  if (!full.ok()) return full.status();
  if (absl::Status status = check_action(*full, true); !status.ok()) return status;
  const tna::Entry entry = to_entry(nullptr, *full);
  if (twin_ != nullptr) {
    if (absl::Status status = twin_->check(entry); !status.ok()) return status;
    context.transaction.on_commit([this, entry] { twin_->set_default(entry); });
  }
  context.transaction.on_undo([this, old = default_] { default_ = old; });
  default_ = *std::move(full);
  return absl::OkStatus();
}

absl::Status EntryTable::reset_default(WriteContext& context) {
  if (!default_.has_value()) return absl::OkStatus();
  if (twin_ != nullptr) {
    context.transaction.on_commit([this] { twin_->set_default(tna::Entry{}); });
  }
  context.transaction.on_undo([this, old = default_] { default_ = old; });
  default_.reset();
  return absl::OkStatus();
}

void EntryTable::emit_row(const ReadQuery& query, tna::Handle handle, const Row& row, const Emit& emit) {
  if (query.action_id != 0 && row.data.action_id != query.action_id) return;
  if (!presents() || query.key_only) {
    emit({&row.key, &row.data, handle});
    return;
  }
  Data data = row.data;
  present(query, handle, row.key, data);
  emit({&row.key, &data, handle});
}

absl::Status EntryTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  const auto found = by_key_.find(key.index);
  if (found == by_key_.end()) return error(absl::StatusCode::kNotFound, "no such entry");
  emit_row(query, found->second, rows_.at(found->second), emit);
  return absl::OkStatus();
}

absl::Status EntryTable::read_all(const ReadQuery& query, const Emit& emit) {
  for (const auto& [handle, row] : rows_) emit_row(query, handle, row, emit);
  return absl::OkStatus();
}

absl::Status EntryTable::read_default(const ReadQuery& query, const Emit& emit) {
  if (!default_.has_value()) return absl::OkStatus();
  if (query.action_id != 0 && default_->action_id != query.action_id) return absl::OkStatus();
  emit({nullptr, &*default_, 0});
  return absl::OkStatus();
}

absl::StatusOr<tna::Handle> EntryTable::handle_of(const Key& key) {
  const auto found = by_key_.find(key.index);
  if (found == by_key_.end()) return error(absl::StatusCode::kNotFound, "no such entry");
  return found->second;
}

absl::StatusOr<Key> EntryTable::key_of(tna::Handle handle) {
  const auto found = rows_.find(handle);
  if (found == rows_.end()) return error(absl::StatusCode::kNotFound, concat("no entry has handle ", handle));
  return found->second.key;
}

void EntryTable::wipe(WriteContext& context) {
  while (!rows_.empty()) erase(context, rows_.begin()->first);
  (void)EntryTable::reset_default(context);  // cannot fail
  forget_attributes();
}

}  // namespace l3dml::server
