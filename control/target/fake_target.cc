#include "control/target/fake_target.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/target/bfrt_codec.h"

namespace l3dml::control::target {
namespace {

bool unchecked(std::string_view table) { return table.starts_with("$") || table.starts_with("tf1."); }

// A form in which equal values are equal strings, for tables without a schema.
std::string printed(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.storage())) return "s" + *text;
  if (std::holds_alternative<std::vector<uint32_t>>(value.storage())) return "l";
  return absl::StrCat("n", value.number());
}

// Fixed tables take numbers; so list members are compared as such.
template <typename T>
void remove_at(std::vector<T>& list, size_t position) {
  if (position < list.size()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FakeTarget>> FakeTarget::create(const std::string& program,
                                                               const std::string& program_json,
                                                               unsigned pipes) {
  auto schema = TargetSchema::parse(program_json, "");
  if (!schema.ok()) return schema.status();
  auto target = std::make_unique<FakeTarget>();
  target->program_ = program;
  target->pipes_ = pipes;
  target->schema_ = *std::move(schema);
  return target;
}

absl::StatusOr<std::string> FakeTarget::full_name(std::string_view table) const {
  if (unchecked(table) || schema_->tables().empty()) return std::string(table);
  absl::StatusOr<const SchemaTable*> info = schema_->table(table);
  if (!info.ok()) return info.status();
  return (*info)->name;
}

absl::StatusOr<std::string> FakeTarget::canonical(const std::string& table, const Key& key) const {
  std::vector<std::string> parts;
  absl::StatusOr<const SchemaTable*> info = schema_->table(table);
  if (info.ok()) {
    bfrt_proto::TableKey encoded;
    if (absl::Status status = encode_key(**info, key, &encoded); !status.ok()) return status;
    for (const auto& field : encoded.fields()) parts.push_back(field.SerializeAsString());
  } else {
    for (const KeyField& field : key.fields()) {
      parts.push_back(absl::StrCat(field.name, "=", printed(field.value), "/", printed(field.mask), "/",
                                   field.prefix_length));
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string out;
  for (const std::string& part : parts) absl::StrAppend(&out, part.size(), ":", part);
  return out;
}

Key FakeTarget::named(const std::string& table, const Key& key) const {
  absl::StatusOr<const SchemaTable*> info = schema_->table(table);
  if (!info.ok()) return key;
  Key out;
  for (KeyField field : key.fields()) {
    if (auto known = (*info)->key_field(field.name); known.ok()) field.name = (*known)->name;
    out.add(std::move(field));
  }
  return out;
}

Action FakeTarget::named(const std::string& table, const Action& action) const {
  absl::StatusOr<const SchemaTable*> info = schema_->table(table);
  if (!info.ok()) return action;
  auto known = (*info)->action(action.name());
  const SchemaAction* const of = known.ok() ? *known : nullptr;
  Action out(of != nullptr ? of->name : action.name());
  for (const auto& [name, value] : action.fields()) {
    auto field = (*info)->data_field(of, name);
    out.param(field.ok() ? (*field)->name : name, value);
  }
  return out;
}

absl::Status FakeTarget::apply_members(const std::string& table, Row& row, const Update& update) {
  // Every list of the update gains or loses elements at the positions of the first list's members.
  Action next(row.action.name());
  std::vector<size_t> gone;
  for (const auto& [name, value] : update.action.fields()) {
    if (value.numbers().empty() || update.kind != Update::Kind::remove_members) continue;
    const std::vector<uint32_t> members = row.action.get(name).numbers();
    for (uint32_t member : value.numbers()) {
      const auto found = std::find(members.begin(), members.end(), member);
      if (found == members.end())
        return absl::NotFoundError(absl::StrCat(table, ": ", member, " is no member"));
      gone.push_back(static_cast<size_t>(found - members.begin()));
    }
    break;
  }
  std::sort(gone.rbegin(), gone.rend());
  Action::Fields all = row.action.fields();
  for (const auto& [name, value] : update.action.fields()) {
    if (!row.action.has(name)) all.emplace_back(name, FieldValue());
  }
  for (auto& [name, value] : all) {
    std::vector<uint32_t> numbers = value.numbers();
    std::vector<bool> flags = value.flags();
    if (update.kind == Update::Kind::remove_members) {
      for (size_t position : gone) {
        remove_at(numbers, position);
        if (position < flags.size()) flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(position));
      }
    } else {
      const FieldValue given = update.action.get(name);
      for (uint32_t number : given.numbers()) numbers.push_back(number);
      for (bool flag : given.flags()) flags.push_back(flag);
    }
    const bool is_flags = std::holds_alternative<std::vector<bool>>(value.storage()) || !flags.empty();
    next.param(name, is_flags ? FieldValue(flags) : FieldValue(numbers));
  }
  row.action = std::move(next);
  return absl::OkStatus();
}

absl::Status FakeTarget::apply(const Update& update) {
  absl::StatusOr<std::string> name = full_name(update.table);
  if (!name.ok()) return name.status();
  const std::string& table = *name;
  if (!unchecked(table) && !schema_->tables().empty()) {
    bfrt_proto::Update encoded;
    if (absl::Status status = encode(*schema_, 0, update, &encoded); !status.ok()) return status;
  }
  absl::StatusOr<std::string> key = canonical(table, update.key);
  if (!key.ok()) return key.status();
  auto& rows = state_.rows[table];
  const auto found = rows.find(*key);
  using Kind = Update::Kind;
  switch (update.kind) {
    case Kind::insert:
      if (found != rows.end()) return absl::AlreadyExistsError(absl::StrCat(table, ": the entry exists"));
      if (auto info = schema_->table(table);
          info.ok() && (*info)->size != 0 && rows.size() >= (*info)->size) {
        return absl::ResourceExhaustedError(
            absl::StrCat(table, ": all ", (*info)->size, " entries are in use"));
      }
      rows[*key] = Row{named(table, update.key), named(table, update.action)};
      return absl::OkStatus();
    case Kind::upsert:
      rows[*key] = Row{named(table, update.key), named(table, update.action)};
      return absl::OkStatus();
    case Kind::modify: {
      if (found == rows.end()) return absl::NotFoundError(absl::StrCat(table, ": no such entry"));
      Action next = named(table, update.action);
      for (const auto& [field, value] : found->second.action.fields()) {  // what is not given is kept
        if ((next.name().empty() || next.name() == found->second.action.name()) && !next.has(field)) {
          next.param(field, value);
        }
      }
      found->second.action = std::move(next);
      return absl::OkStatus();
    }
    case Kind::remove:
      if (found == rows.end()) return absl::NotFoundError(absl::StrCat(table, ": no such entry"));
      rows.erase(found);
      return absl::OkStatus();
    case Kind::clear:
      rows.clear();
      state_.cells[table].clear();
      state_.counters[table].clear();
      return absl::OkStatus();
    case Kind::set_default:
      state_.defaults[table] = named(table, update.action);
      return absl::OkStatus();
    case Kind::reset_default:
      state_.defaults.erase(table);
      return absl::OkStatus();
    case Kind::add_members:
    case Kind::remove_members:
      if (found == rows.end()) return absl::NotFoundError(absl::StrCat(table, ": no such entry"));
      return apply_members(table, found->second, update);
    case Kind::write_cell:
      if (auto info = schema_->table(table); info.ok() && update.index >= (*info)->size) {
        return absl::InvalidArgumentError(
            absl::StrCat(table, ": index ", update.index, " is not below ", (*info)->size));
      }
      if (update.cells.empty()) {
        state_.counters[table][update.index] = {update.action.get("$COUNTER_SPEC_BYTES").number(),
                                                update.action.get("$COUNTER_SPEC_PKTS").number()};
      } else {
        const Cell cell{update.cells[0], update.cells.size() > 1 ? update.cells[1] : 0};
        for (uint32_t pipe = 0; pipe < pipes_; ++pipe) {
          if (!update.pipe || *update.pipe == pipe) state_.cells[table][{update.index, pipe}] = cell;
        }
      }
      return absl::OkStatus();
    case Kind::operation:
      return absl::OkStatus();
  }
  return absl::InternalError("unknown update");
}

absl::Status FakeTarget::write(const Batch& batch, Atomicity atomicity) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  if (!next_failure_.ok()) return std::exchange(next_failure_, absl::OkStatus());
  State before;  // of the tables that the batch names
  for (const Update& update : batch.updates()) {
    const auto name = full_name(update.table);
    if (!name.ok() || before.rows.contains(*name)) continue;
    before.rows[*name] = state_.rows[*name];
    before.cells[*name] = state_.cells[*name];
    before.counters[*name] = state_.counters[*name];
    if (const auto found = state_.defaults.find(*name); found != state_.defaults.end())
      before.defaults.insert(*found);
  }
  absl::Status first;
  for (size_t i = 0; i < batch.size(); ++i) {
    const absl::Status status = apply(batch.updates()[i]);
    if (status.ok()) continue;
    if (first.ok()) {
      first = batch.size() == 1
                  ? status
                  : absl::Status(status.code(), absl::StrCat("update ", i, ": ", status.message()));
    }
    if (atomicity == Atomicity::all_or_nothing) {
      for (auto& [name, rows] : before.rows) {
        state_.rows[name] = std::move(rows);
        state_.cells[name] = std::move(before.cells[name]);
        state_.counters[name] = std::move(before.counters[name]);
        state_.defaults.erase(name);
      }
      state_.defaults.merge(before.defaults);
      return first;
    }
  }
  ++write_count_;
  if (keeps_log_) log_.insert(log_.end(), batch.updates().begin(), batch.updates().end());
  return first;
}

absl::StatusOr<std::vector<Row>> FakeTarget::read(std::string_view table, const ReadOptions& options) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  std::vector<Row> out;
  for (const auto& [key, row] : state_.rows[*name]) {
    if (options.action.empty() || names(row.action.name(), options.action)) out.push_back(row);
  }
  if (const auto found = state_.defaults.find(*name); found != state_.defaults.end()) {
    out.push_back({Key{}, found->second, true});
  }
  return out;
}

absl::StatusOr<Row> FakeTarget::read(std::string_view table, const Key& key, const ReadOptions&) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  absl::StatusOr<std::string> canonical_key = canonical(*name, key);
  if (!canonical_key.ok()) return canonical_key.status();
  const auto& rows = state_.rows[*name];
  const auto found = rows.find(*canonical_key);
  if (found == rows.end()) return absl::NotFoundError(absl::StrCat(*name, ": no such entry"));
  return found->second;
}

absl::StatusOr<std::optional<Row>> FakeTarget::read_default(std::string_view table) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  if (*name == "tf1.dev.device_configuration") {
    std::vector<uint32_t> recirculation;
    for (unsigned pipe = 0; pipe < pipes_; ++pipe) recirculation.push_back(pipe * 128 + 68);
    return std::optional<Row>(Row{Key{}, Data{}.param("recirc_port_list", recirculation), true});
  }
  const auto found = state_.defaults.find(*name);
  if (found == state_.defaults.end()) return std::optional<Row>();
  return std::optional<Row>(Row{Key{}, found->second, true});
}

absl::StatusOr<uint32_t> FakeTarget::usage(std::string_view table) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  return static_cast<uint32_t>(state_.rows[*name].size());
}

absl::StatusOr<std::vector<std::vector<Cell>>> FakeTarget::read_registers(std::string_view table,
                                                                          uint32_t first, uint32_t count) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  std::vector<std::vector<Cell>> out(count, std::vector<Cell>(pipes_));
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t pipe = 0; pipe < pipes_; ++pipe) {
      const auto& cells = state_.cells[*name];
      const auto found = cells.find({first + i, pipe});
      if (found != cells.end()) out[i][pipe] = found->second;
    }
  }
  return out;
}

absl::StatusOr<Counter> FakeTarget::read_counter(std::string_view table, uint32_t index) {
  std::lock_guard lock(mutex_);
  if (!connected_) return absl::UnavailableError("the fake switch is not connected");
  absl::StatusOr<std::string> name = full_name(table);
  if (!name.ok()) return name.status();
  return state_.counters[*name][index];
}

bool FakeTarget::connected() const {
  std::lock_guard lock(mutex_);
  return connected_;
}

absl::Status FakeTarget::reconnect() {
  std::lock_guard lock(mutex_);
  if (!reconnect_failure_.ok()) return reconnect_failure_;
  connected_ = true;
  return absl::OkStatus();
}

void FakeTarget::on_event(std::function<void(const Event&)> receiver) {
  std::lock_guard lock(event_mutex_);
  receiver_ = std::move(receiver);
}

void FakeTarget::fail_next_write(absl::Status status) {
  std::lock_guard lock(mutex_);
  next_failure_ = std::move(status);
}

void FakeTarget::lose_connection() {
  {
    std::lock_guard lock(mutex_);
    connected_ = false;
  }
  Event event;
  event.status = absl::UnavailableError("the fake switch went away");
  raise(event);
}

void FakeTarget::refuse_reconnect(absl::Status status) {
  std::lock_guard lock(mutex_);
  reconnect_failure_ = std::move(status);
}

void FakeTarget::restart() {
  {
    std::lock_guard lock(mutex_);
    state_ = {};
  }
  lose_connection();
}

void FakeTarget::raise(const Event& event) {
  std::lock_guard lock(event_mutex_);
  if (receiver_) receiver_(event);
}

void FakeTarget::set_cell(std::string_view table, uint32_t index, uint32_t pipe, Cell cell) {
  std::lock_guard lock(mutex_);
  if (auto name = full_name(table); name.ok()) state_.cells[*name][{index, pipe}] = cell;
}

void FakeTarget::set_counter(std::string_view table, uint32_t index, Counter counter) {
  std::lock_guard lock(mutex_);
  if (auto name = full_name(table); name.ok()) state_.counters[*name][index] = counter;
}

size_t FakeTarget::write_count() const {
  std::lock_guard lock(mutex_);
  return write_count_;
}

std::vector<Update> FakeTarget::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

void FakeTarget::keep_log(bool keep) {
  std::lock_guard lock(mutex_);
  keeps_log_ = keep;
}

void FakeTarget::clear_log() {
  std::lock_guard lock(mutex_);
  log_.clear();
  write_count_ = 0;
}

}  // namespace l3dml::control::target
