#include "dataplane/server/match_table.h"

#include <algorithm>

#include "dataplane/server/codec.h"
#include "dataplane/server/profile_tables.h"
#include "dataplane/server/specs.h"
#include "dataplane/server/text.h"

namespace l3dml::server {

MatchTable::MatchTable(const TableInfo& info, const Device& device)
    : EntryTable(info, device),
      bytes_(info.data_with(Role::counter_bytes)),
      packets_(info.data_with(Role::counter_packets)),
      ttl_(info.data_with(Role::ttl)),
      hit_state_(info.data_with(Role::hit_state)),
      member_(info.data_with(Role::member)),
      group_(info.data_with(Role::group)),
      ages_(info.has_attribute("IdleTimeout")),
      live_counters_(twin() != nullptr && (bytes_ != nullptr || packets_ != nullptr)) {
  for (const FieldInfo& field : info.data) has_registers_ = has_registers_ || field.is_register;
  default_ = program_default();
}

// bf-rt.json does not name the default action, but the compiler leaves traces: it adds NoAction, for defaults
// only, where the program names none; and an action for defaults only that stands alone can be nothing else.
std::optional<Data> MatchTable::program_default() const {
  const ActionInfo* only = nullptr;
  size_t candidates = 0;
  for (const ActionInfo& action : info_.actions) {
    if (action.in_entries || !action.as_default) continue;
    only = &action;
    ++candidates;
  }
  if (candidates != 1) return std::nullopt;
  Data data;
  data.action_id = only->id;
  for (const FieldInfo& field : only->data) data.fields.push_back({field.id, field.initial});
  return data;
}

// A register has a value per pipe: its field stands once for each.
void MatchTable::per_pipe(const WriteContext& context, const Data& given, const Data* old, Data& full) const {
  Fields out;
  for (FieldValue& field : full.fields) {
    const FieldInfo* const info = info_.data_field(full.action_id, field.id);
    if (info == nullptr || !info->is_register) {
      out.push_back(std::move(field));
      continue;
    }
    const Value* const now = find_field(given.fields, field.id);
    std::vector<const Value*> before;
    if (old != nullptr) {
      for (const FieldValue& known : old->fields) {
        if (known.id == field.id) before.push_back(&known.value);
      }
    }
    for (unsigned pipe = 0; pipe < device_.pipes; ++pipe) {
      const bool meant = context.target.pipe == kAllPipes || context.target.pipe == pipe;
      const Value& kept = pipe < before.size() ? *before[pipe] : info->initial;
      out.push_back({field.id, now != nullptr && meant ? *now : kept});
    }
  }
  full.fields = std::move(out);
}

absl::StatusOr<Data> MatchTable::complete(const WriteContext& context, const Data& given,
                                          const Data* old) const {
  absl::StatusOr<Data> full = EntryTable::complete(context, given, old);
  if (!full.ok()) return full;
  if (has_registers_) per_pipe(context, given, old, *full);
  for (const FieldInfo* counter : {bytes_, packets_}) {
    if (counter == nullptr || old == nullptr || find_field(given.fields, counter->id) != nullptr) continue;
    if (!context.keep_stats) {
      set_field(full->fields, counter->id, counter->initial);
    } else if (live_counters_) {
      std::erase_if(full->fields, [&](const FieldValue& field) { return field.id == counter->id; });
    }
  }
  if (old == nullptr && hit_state_ != nullptr && find_field(given.fields, hit_state_->id) == nullptr) {
    set_field(full->fields, hit_state_->id, std::string("ENTRY_ACTIVE"));
  }
  return full;
}

void MatchTable::normalize(Key& key) const {
  key.index.clear();
  for (size_t i = 0; i < key.fields.size(); ++i) {
    std::string& value = key.fields[i].value;
    for (size_t byte = 0; byte < masks_[i].size(); ++byte)
      value[byte] = static_cast<char>(value[byte] & masks_[i][byte]);
  }
  key.index = canonical_index(info_, key);
}

absl::Status MatchTable::check_reference(const Data& data) const {
  if (member_ == nullptr && group_ == nullptr) return absl::OkStatus();
  const Value* const member = member_ == nullptr ? nullptr : find_field(data.fields, member_->id);
  const Value* const group = group_ == nullptr ? nullptr : find_field(data.fields, group_->id);
  if ((member != nullptr) == (group != nullptr)) {
    return error(absl::StatusCode::kInvalidArgument, group_ == nullptr
                                                         ? "an action member is needed"
                                                         : "an action member or a selector group is needed");
  }
  const FieldInfo& field = member != nullptr ? *member_ : *group_;
  const auto* const profile =
      static_cast<ProfileTable*>(dependency(member != nullptr ? TableKind::action : TableKind::selector));
  const auto id = static_cast<uint32_t>(get_uint(data.fields, field.id));
  if (profile == nullptr || profile->exists(id)) return absl::OkStatus();
  return error(absl::StatusCode::kNotFound, concat("there is no ", field.name, " ", id));
}

void MatchTable::refer(WriteContext& context, const Data& data, bool hold) const {
  for (const FieldInfo* field : {member_, group_}) {
    if (field == nullptr || find_field(data.fields, field->id) == nullptr) continue;
    auto* const profile =
        static_cast<ProfileTable*>(dependency(field == member_ ? TableKind::action : TableKind::selector));
    const auto id = static_cast<uint32_t>(get_uint(data.fields, field->id));
    if (profile == nullptr) continue;
    hold ? profile->hold(context, id) : profile->release(context, id);
  }
}

absl::Status MatchTable::check_row(const Key&, const Data& data, const Row*) {
  if (const std::string mistake = spec_mistake(info_.data, data.fields); !mistake.empty())
    return error(absl::StatusCode::kInvalidArgument, mistake);
  const uint64_t ttl = ttl_ == nullptr ? 0 : get_uint(data.fields, ttl_->id);
  if (timer_.mode() != IdleTimer::Mode::off && timer_.max_ttl_ms() != 0 && ttl > timer_.max_ttl_ms()) {
    return error(absl::StatusCode::kInvalidArgument,
                 concat("$ENTRY_TTL ", ttl, " is above the table's maximum of ", timer_.max_ttl_ms(), " ms"));
  }
  return check_reference(data);
}

// The pipeline counts: complete() left only those counter fields in the row that the pipeline has to be told.
void MatchTable::write_counters(WriteContext& context, tna::Handle handle, const Data& data) const {
  std::optional<uint64_t> bytes, packets;
  if (bytes_ != nullptr && find_field(data.fields, bytes_->id) != nullptr)
    bytes = get_uint(data.fields, bytes_->id);
  if (packets_ != nullptr && find_field(data.fields, packets_->id) != nullptr)
    packets = get_uint(data.fields, packets_->id);
  if (!bytes && !packets) return;
  context.transaction.on_commit([live = twin(), handle, bytes, packets] {
    const tna::CounterValue now = live->counter(handle);
    live->set_counter(handle, {bytes.value_or(now.bytes), packets.value_or(now.packets)});
  });
}

void MatchTable::stored(WriteContext& context, tna::Handle handle, const Row& row, const Data* old) {
  if (old != nullptr) refer(context, *old, false);
  refer(context, row.data, true);
  if (live_counters_) write_counters(context, handle, row.data);
  if (old == nullptr || !context.keep_ttl) restart_timer(context, handle, row.data);
}

void MatchTable::removed(WriteContext& context, tna::Handle handle, const Row& row) {
  refer(context, row.data, false);
  context.transaction.on_done([this, handle] { timer_.stop(handle); });
}

bool MatchTable::presents() const {
  return has_registers_ || live_counters_ || (ages_ && timer_.mode() == IdleTimer::Mode::notify);
}

std::vector<tna::CounterValue> MatchTable::fetch_counters(const std::vector<tna::Handle>& handles) const {
  std::vector<tna::CounterValue> out;
  if (!live_counters_) return out;
  out.reserve(handles.size());
  device_.run([&] {
    for (tna::Handle handle : handles) out.push_back(twin()->counter(handle));
  });
  return out;
}

void MatchTable::present_counters(const tna::CounterValue& value, Data& data) const {
  if (bytes_ != nullptr) set_field(data.fields, bytes_->id, from_uint(value.bytes, bytes_->byte_count()));
  if (packets_ != nullptr)
    set_field(data.fields, packets_->id, from_uint(value.packets, packets_->byte_count()));
}

void MatchTable::present(const ReadQuery& query, tna::Handle handle, const Key&, Data& data) {
  if (timer_.mode() == IdleTimer::Mode::notify) {
    const int64_t now = device_.clock->now_ns();
    if (ttl_ != nullptr)
      set_field(data.fields, ttl_->id, from_uint(timer_.remaining_ms(handle, now), ttl_->byte_count()));
    if (hit_state_ != nullptr)
      set_field(data.fields, hit_state_->id,
                std::string(timer_.idle(handle) ? "ENTRY_IDLE" : "ENTRY_ACTIVE"));
  }
  if (has_registers_ && query.target.pipe < device_.pipes) {
    uint32_t id = 0;
    unsigned pipe = 0;
    std::erase_if(data.fields, [&](const FieldValue& field) {
      const FieldInfo* const info = info_.data_field(data.action_id, field.id);
      if (info == nullptr || !info->is_register) return false;
      pipe = field.id == id ? pipe + 1 : 0;
      id = field.id;
      return pipe != query.target.pipe;
    });
  }
}

absl::Status MatchTable::set_default(WriteContext& context, const Data& data) {
  if (info_.has_const_default)
    return error(absl::StatusCode::kInvalidArgument, "its default action is constant");
  absl::StatusOr<Data> full = complete(context, data, default_.has_value() ? &*default_ : nullptr);
  if (!full.ok()) return full.status();
  std::erase_if(full->fields, [&](const FieldValue& field) {  // a default entry does not age
    return (ttl_ != nullptr && field.id == ttl_->id) || (hit_state_ != nullptr && field.id == hit_state_->id);
  });
  if (absl::Status status = check_action(*full, true); !status.ok()) return status;
  if (const std::string mistake = spec_mistake(info_.data, full->fields); !mistake.empty())
    return error(absl::StatusCode::kInvalidArgument, mistake);
  if (absl::Status status = check_reference(*full); !status.ok()) return status;
  if (twin() != nullptr) {
    const tna::Entry entry = to_entry(nullptr, *full);
    if (absl::Status status = twin()->check(entry); !status.ok()) return status;
    context.transaction.on_commit([live = twin(), entry] { live->set_default(entry); });
  }
  if (default_) refer(context, *default_, false);
  refer(context, *full, true);
  context.transaction.on_undo([this, old = default_] { default_ = old; });
  default_ = *std::move(full);
  return absl::OkStatus();
}

absl::Status MatchTable::reset_default(WriteContext& context) {
  if (twin() != nullptr && !info_.has_const_default) {
    context.transaction.on_commit([live = twin()] { live->set_default(tna::Entry{}); });
  }
  if (default_) refer(context, *default_, false);
  context.transaction.on_undo([this, old = default_] { default_ = old; });
  default_ = program_default();
  return absl::OkStatus();
}

absl::Status MatchTable::read_default(const ReadQuery& query, const Emit& emit) {
  if (!default_.has_value()) return absl::OkStatus();
  if (query.action_id != 0 && default_->action_id != query.action_id) return absl::OkStatus();
  emit({nullptr, &*default_});
  return absl::OkStatus();
}

void MatchTable::wipe(WriteContext& context) {
  EntryTable::wipe(context);
  (void)MatchTable::reset_default(context);  // cannot fail
}

}  // namespace l3dml::server
