#include "dataplane/server/entry_table.h"

#include <algorithm>

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

constexpr size_t kRowsPerPause = 1024;  // entries whose live values are fetched in one pause of the pipeline

}  // namespace

EntryTable::EntryTable(const TableInfo& info, const Device& device)
    : Table(info, device),
      twin_(device.twin == nullptr ? nullptr : device.twin->table(info.name)),
      scopes_(device.pipes),
      rows_in_(1) {}

std::string EntryTable::place(const Key& key, unsigned scope) const {
  return scopes_.single() ? key.index : static_cast<char>(scope) + key.index;
}

const EntryTable::Row* EntryTable::find(const Key& key, unsigned scope) const {
  const auto found = by_key_.find(place(key, scope));
  return found == by_key_.end() ? nullptr : &rows_.at(found->second);
}

bool EntryTable::in_any_scope(const Key& key) const {
  for (unsigned scope = 0; scope < scopes_.count(); ++scope) {
    if (find(key, scope) != nullptr) return true;
  }
  return false;
}

absl::StatusOr<unsigned> EntryTable::scope_of(const Target& target, const Key& key) const {
  if (key.scope >= 0) return static_cast<unsigned>(key.scope);
  absl::StatusOr<unsigned> scope = scopes_.of(target.pipe);
  return scope.ok() ? scope : error(scope.status().code(), concat(scope.status().message()));
}

absl::StatusOr<tna::Handle> EntryTable::locate(const Target& target, const Key& wanted) const {
  absl::StatusOr<unsigned> scope = scope_of(target, wanted);
  if (!scope.ok()) return scope.status();
  auto found = by_key_.end();
  if (normalizes()) {
    Key key = wanted;
    normalize(key);
    found = by_key_.find(place(key, *scope));
  } else {
    found = by_key_.find(place(wanted, *scope));
  }
  if (found == by_key_.end()) return error(absl::StatusCode::kNotFound, "no such entry");
  return found->second;
}

int EntryTable::reported_pipe(unsigned scope) const {
  return scopes_.single() ? -1 : static_cast<int>(scopes_.lowest_pipe(scope));
}

// Old values are kept field by field, but parameters of another action mean nothing to the new one.
absl::StatusOr<Data> EntryTable::complete(const WriteContext&, const Data& given, const Data* old) const {
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
    const auto scope = static_cast<unsigned>(row.key.scope);
    by_key_.emplace(place(row.key, scope), handle);
    ++rows_in_[scope];
    if (twin_ != nullptr) {
      context.transaction.on_commit(
          [this, handle, entry = to_entry(&row.key, row.data)] { twin_->insert(handle, entry); });
    }
    const Row& stored_row = rows_.emplace(handle, std::move(row)).first->second;
    context.transaction.on_undo([this, handle, scope] {
      by_key_.erase(place(rows_.at(handle).key, scope));
      rows_.erase(handle);
      --rows_in_[scope];
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
  const auto scope = static_cast<unsigned>(row.key.scope);
  rows_.erase(found);
  by_key_.erase(place(row.key, scope));
  --rows_in_[scope];
  if (twin_ != nullptr) {
    context.transaction.on_commit([this, handle] { twin_->remove(handle); });
  }
  context.transaction.on_undo([this, handle, row, scope] {
    by_key_.emplace(place(row.key, scope), handle);
    rows_.emplace(handle, row);
    ++rows_in_[scope];
  });
  removed(context, handle, row);
}

absl::Status EntryTable::insert(WriteContext& context, Key key, const Data& data) {
  if (info_.is_const) return error(absl::StatusCode::kInvalidArgument, "its entries are constant");
  absl::StatusOr<unsigned> scope = scope_of(context.target, key);
  if (!scope.ok()) return scope.status();
  if (normalizes()) normalize(key);
  key.scope = static_cast<int>(*scope);
  if (find(key, *scope) != nullptr) return error(absl::StatusCode::kAlreadyExists, "the entry exists");
  if (rows_in_[*scope] >= info_.size && info_.size != 0) {
    return error(absl::StatusCode::kResourceExhausted, concat("all ", info_.size, " entries are in use"));
  }
  absl::StatusOr<Data> full = complete(context, data, nullptr);
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
  absl::StatusOr<tna::Handle> handle = locate(context.target, key);
  if (!handle.ok()) return handle.status();
  const Row& old = rows_.at(*handle);
  absl::StatusOr<Data> full = complete(context, data, &old.data);
  if (!full.ok()) return full.status();
  if (absl::Status status = check_action(*full, false); !status.ok()) return status;
  if (absl::Status status = check_row(old.key, *full, &old); !status.ok()) return status;
  if (twin_ != nullptr) {
    if (absl::Status status = twin_->check(to_entry(&old.key, *full)); !status.ok()) return status;
  }
  put(context, *handle, Row{old.key, *std::move(full)});
  return absl::OkStatus();
}

absl::Status EntryTable::remove(WriteContext& context, const Key& key) {
  if (info_.is_const) return error(absl::StatusCode::kInvalidArgument, "its entries are constant");
  absl::StatusOr<tna::Handle> handle = locate(context.target, key);
  if (!handle.ok()) return handle.status();
  if (absl::Status status = check_remove(rows_.at(*handle)); !status.ok()) return status;
  erase(context, *handle);
  return absl::OkStatus();
}

absl::Status EntryTable::clear(WriteContext& context) {
  if (info_.is_const) return absl::OkStatus();  // clients clear every table they list
  auto covered = scopes_.covered(context.target.pipe);
  if (!covered.ok()) return covered.status();
  std::vector<tna::Handle> going;
  for (const auto& [handle, row] : rows_) {
    const auto scope = static_cast<unsigned>(row.key.scope);
    if (scope < covered->first || scope >= covered->second) continue;
    if (absl::Status status = check_remove(row); !status.ok()) return status;
    going.push_back(handle);
  }
  for (tna::Handle handle : going) erase(context, handle);
  return absl::OkStatus();
}

bool EntryTable::contains(const Target& target, const Key& key) const { return locate(target, key).ok(); }

void EntryTable::emit_row(const ReadQuery& query, tna::Handle handle, const Row& row,
                          const tna::CounterValue* live, const Emit& emit) {
  if (query.action_id != 0 && row.data.action_id != query.action_id) return;
  const int pipe = reported_pipe(static_cast<unsigned>(row.key.scope));
  if (!presents() || query.key_only) {
    emit({&row.key, &row.data, handle, pipe});
    return;
  }
  Data data = row.data;
  if (live != nullptr) present_counters(*live, data);
  present(query, handle, row.key, data);
  emit({&row.key, &data, handle, pipe});
}

absl::Status EntryTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  absl::StatusOr<tna::Handle> handle = locate(query.target, key);
  if (!handle.ok()) return handle.status();
  const std::vector<tna::CounterValue> live = fetch_counters({*handle});
  emit_row(query, *handle, rows_.at(*handle), live.empty() ? nullptr : &live[0], emit);
  return absl::OkStatus();
}

absl::Status EntryTable::read_all(const ReadQuery& query, const Emit& emit) {
  auto covered = scopes_.covered(query.target.pipe);
  if (!covered.ok()) return covered.status();
  std::vector<tna::Handle> burst;
  auto flush = [&] {
    const std::vector<tna::CounterValue> live =
        query.key_only ? std::vector<tna::CounterValue>{} : fetch_counters(burst);
    for (size_t i = 0; i < burst.size(); ++i)
      emit_row(query, burst[i], rows_.at(burst[i]), live.empty() ? nullptr : &live[i], emit);
    burst.clear();
  };
  for (const auto& [handle, row] : rows_) {
    const auto scope = static_cast<unsigned>(row.key.scope);
    if (scope < covered->first || scope >= covered->second) continue;
    burst.push_back(handle);
    if (burst.size() >= kRowsPerPause) flush();
  }
  flush();
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> EntryTable::usage(const Target& target) {
  auto covered = scopes_.covered(target.pipe);
  if (!covered.ok()) return covered.status();
  uint32_t sum = 0;
  for (unsigned scope = covered->first; scope < covered->second; ++scope) sum += rows_in_[scope];
  return sum;
}

absl::StatusOr<tna::Handle> EntryTable::handle_of(const Target& target, const Key& key) {
  return locate(target, key);
}

absl::StatusOr<Key> EntryTable::key_of(tna::Handle handle) {
  const auto found = rows_.find(handle);
  if (found == rows_.end()) return error(absl::StatusCode::kNotFound, concat("no entry has handle ", handle));
  return found->second.key;
}

absl::Status EntryTable::check_attribute(const bfrt_proto::TableAttribute& attribute) {
  if (!attribute.has_entry_scope()) return absl::OkStatus();
  const bfrt_proto::EntryScope& scope = attribute.entry_scope();
  if (!scope.has_pipe_scope() || scope.has_gress_scope() != scope.has_prsr_scope()) {
    return error(absl::StatusCode::kInvalidArgument,
                 "an entry scope is of pipes alone or of all three kinds");
  }
  absl::StatusOr<Scopes> next = Scopes::from(scope.pipe_scope(), device_.pipes);
  if (!next.ok()) return next.status();
  if (*next == scopes_) return absl::OkStatus();
  if (!rows_.empty()) {
    return error(absl::StatusCode::kInvalidArgument,
                 "the table has entries: clear it before changing its scope");
  }
  if (twin_ != nullptr) return unsupported("entries per pipe while the pipeline runs this program");
  return absl::OkStatus();
}

void EntryTable::attribute_changed(WriteContext& context) {
  const bfrt_proto::TableAttribute* const scope = attribute(bfrt_proto::TableAttribute::kEntryScope);
  const Scopes next =
      scope == nullptr
          ? Scopes(device_.pipes)
          : Scopes::from(scope->entry_scope().pipe_scope(), device_.pipes).value_or(Scopes(device_.pipes));
  if (next == scopes_) return;
  auto set = [this](const Scopes& to) {
    scopes_ = to;
    rows_in_.assign(to.count(), 0);  // the table is empty
  };
  context.transaction.on_undo([set, old = scopes_] { set(old); });
  set(next);
}

void EntryTable::wipe(WriteContext& context) {
  while (!rows_.empty()) erase(context, rows_.begin()->first);
  forget_attributes();
  attribute_changed(context);
}

}  // namespace l3dml::server
