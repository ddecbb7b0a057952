#include "dataplane/server/driver.h"

#include <mutex>

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

using bfrt_proto::Entity;
using bfrt_proto::Update;

// Beyond so many pipeline calls a request that does not ask for atomicity is shown to the pipeline in parts,
// so that no pause is long enough to overrun a receive queue.
constexpr size_t kCallsPerPause = 1024;
constexpr int kEntitiesPerResponse = 4096;

Target to_target(const bfrt_proto::TargetDevice& in) {
  return {in.device_id(), in.pipe_id(), in.direction(), in.prsr_id()};
}

absl::Status invalid(const Table& table, std::string_view what) {
  return absl::InvalidArgumentError(concat(table.info().name, ": ", what));
}

bool starts_at_dot(std::string_view full, std::string_view suffix) {
  return full == suffix || (full.size() > suffix.size() && full.ends_with(suffix) &&
                            full[full.size() - suffix.size() - 1] == '.');
}

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> Driver::create(DriverOptions options) {
  std::unique_ptr<Driver> driver(new Driver(std::move(options)));
  absl::StatusOr<std::shared_ptr<const Schema>> program = Schema::parse(driver->options_.program_json);
  if (!program.ok()) return program.status();
  absl::StatusOr<std::shared_ptr<const Schema>> fixed = Schema::parse(fixed_tables_json());
  if (!fixed.ok()) return fixed.status();
  driver->program_ = *std::move(program);
  driver->fixed_ = *std::move(fixed);

  Driver* const self = driver.get();
  static const base::MonotonicClock machine_clock;
  self->device_.id = self->options_.device_id;
  self->device_.twin = self->options_.twin;
  self->device_.ports = self->options_.ports;
  self->device_.program = self->program_.get();
  self->device_.clock = self->options_.clock != nullptr ? self->options_.clock : &machine_clock;
  self->device_.pipes = self->options_.twin != nullptr ? self->options_.twin->pipes() : self->options_.pipes;
  if (self->device_.pipes == 0 || self->device_.pipes > 4) {
    return absl::InvalidArgumentError(concat("a device has 1 to 4 pipes, not ", self->device_.pipes));
  }
  self->device_.table = [self](std::string_view name) {
    const auto found = self->by_name_.find(std::string(name));
    return found == self->by_name_.end() ? nullptr : found->second;
  };
  self->device_.table_with_id = [self](uint32_t id) {
    const auto found = self->by_id_.find(id);
    return found == self->by_id_.end() ? nullptr : found->second;
  };
  self->device_.notify = [self](const bfrt_proto::StreamMessageResponse& message) {
    if (self->notifier_) self->notifier_(message);
  };
  for (const TableInfo& info : self->program_->tables()) {
    self->tables_.push_back(make_program_table(info, self->device_));
    self->by_id_.emplace(info.id, self->tables_.back().get());
  }
  for (const TableInfo& info : self->fixed_->tables()) {
    self->tables_.push_back(make_fixed_table(info, self->device_));
    if (!self->by_id_.emplace(info.id, self->tables_.back().get()).second) {
      return absl::InvalidArgumentError(concat("bf-rt.json: id ", info.id, " belongs to ", info.name));
    }
    self->by_name_.emplace(info.name, self->tables_.back().get());
  }
  self->digests_ = std::make_unique<DigestQueue>(*self->program_, self->options_.device_id);
  for (const auto& table : self->tables_) {
    if (table->ticks()) self->ticking_.push_back(table.get());
  }
  return driver;
}

absl::StatusOr<std::unique_ptr<Driver>> Driver::with_program(const std::string& name,
                                                             const std::string& json) const {
  if (options_.twin != nullptr) {
    return absl::FailedPreconditionError(concat("device ", options_.device_id, " runs ",
                                                options_.program_name, " and cannot load another program"));
  }
  DriverOptions options = options_;
  options.program_name = name;
  options.program_json = json;
  absl::StatusOr<std::unique_ptr<Driver>> driver = create(std::move(options));
  if (driver.ok()) (*driver)->set_notifier(notifier_);
  return driver;
}

absl::StatusOr<Table*> Driver::find_table(uint32_t id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return absl::NotFoundError(concat("no table with id ", id));
  return found->second;
}

std::vector<Outcome> Driver::write(const bfrt_proto::WriteRequest& request, const WriteOptions& options) {
  const bool atomic = request.atomicity() != bfrt_proto::WriteRequest::CONTINUE_ON_ERROR;
  const Target target = to_target(request.target());
  std::vector<Outcome> outcomes;
  outcomes.reserve(static_cast<size_t>(request.updates_size()));
  std::unique_lock lock(mutex_);
  Transaction transaction(atomic);
  for (const Update& update : request.updates()) {
    outcomes.push_back(apply(update, target, options, transaction));
    if (atomic && !outcomes.back().status.ok()) {
      transaction.roll_back();
      return outcomes;
    }
    if (!atomic && transaction.commit_count() >= kCallsPerPause) transaction.commit(device_.executor());
  }
  transaction.commit(device_.executor());
  return outcomes;
}

Outcome Driver::apply(const Update& update, const Target& target, const WriteOptions& options,
                      Transaction& transaction) {
  if (update.type() == Update::UNSPECIFIED || !Update::Type_IsValid(update.type())) {
    return {absl::InvalidArgumentError("the update has no type")};
  }
  WriteContext context{.transaction = transaction, .target = target, .client = options.client};
  const Entity& entity = update.entity();
  switch (entity.entity_case()) {
    case Entity::kTableEntry:
      return apply_entry(update.type(), entity.table_entry(), target, options, transaction);
    case Entity::kTableAttribute: {
      absl::StatusOr<Table*> table = find_table(entity.table_attribute().table_id());
      if (!table.ok()) return {table.status()};
      return {(*table)->set_attribute(context, entity.table_attribute())};
    }
    case Entity::kTableOperation: {
      const std::string& name = entity.table_operation().table_operations_type();
      absl::StatusOr<Table*> table = find_table(entity.table_operation().table_id());
      if (!table.ok()) return {table.status()};
      if (!(*table)->info().has_operation(name)) {
        return {absl::UnimplementedError(
            concat((*table)->info().name, ": operation '", name, "' is not supported"))};
      }
      return {(*table)->operation(context, name)};
    }
    case Entity::ENTITY_NOT_SET:
      return {absl::InvalidArgumentError("the update has no entity")};
    default:
      return {absl::UnimplementedError("only entries, attributes and operations can be written")};
  }
}

Outcome Driver::apply_entry(Update::Type type, const bfrt_proto::TableEntry& entry, const Target& target,
                            const WriteOptions& options, Transaction& transaction) {
  absl::StatusOr<Table*> found = find_table(entry.table_id());
  if (!found.ok()) return {found.status()};
  Table& table = **found;
  WriteContext context{
      .transaction = transaction,
      .target = entry.has_entry_tgt() ? to_target(entry.entry_tgt()) : target,
      .keep_ttl = !entry.table_flags().reset_ttl(),
      .keep_stats = !entry.table_flags().reset_stats(),
      .remove_members = entry.table_flags().mod_del() ||
                        entry.table_mod_inc_flag().type() == bfrt_proto::TableModIncFlag::MOD_INC_DELETE,
      .client = options.client};
  absl::StatusOr<Data> data = decode_data(table.info(), entry.data());
  if (!data.ok()) return {data.status()};
  const bool keyed = entry.value_case() != bfrt_proto::TableEntry::VALUE_NOT_SET;
  if (entry.is_default_entry()) {
    if (keyed) return {invalid(table, "a default entry has no key")};
    switch (type) {
      case Update::MODIFY:
        return {table.set_default(context, *data)};
      case Update::DELETE:
      case Update::RESET:
        return {table.reset_default(context)};
      default:
        return {absl::UnimplementedError(concat(table.info().name, ": a default entry is set by MODIFY"))};
    }
  }
  if (!keyed) {
    if (type == Update::DELETE) return {table.clear(context)};
    return {invalid(table, "the entry has no key")};
  }
  absl::StatusOr<Key> key = entry.value_case() == bfrt_proto::TableEntry::kKey
                                ? decode_key(table.info(), entry.key())
                                : table.key_of(entry.handle_id());
  if (!key.ok()) return {key.status()};
  switch (type) {
    case Update::INSERT:
      return {table.insert(context, *std::move(key), *data)};
    case Update::MODIFY:
      return {table.modify(context, *key, *data)};
    case Update::MODIFY_INC:
      return {table.modify_inc(context, *key, *data)};
    case Update::RESET:
      return {table.reset(context, *key)};
    case Update::INSERT_OR_MODIFY: {
      if (!table.contains(context.target, *key)) return {table.insert(context, *std::move(key), *data)};
      absl::Status status = table.modify(context, *key, *data);
      return {status, status.ok() ? static_cast<int32_t>(absl::StatusCode::kAlreadyExists) : 0};
    }
    case Update::DELETE: {
      absl::Status status = table.remove(context, *key);
      if (options.ignore_not_found && absl::IsNotFound(status)) {
        return {absl::OkStatus(), static_cast<int32_t>(absl::StatusCode::kNotFound)};
      }
      return {status};
    }
    default:
      return {absl::InvalidArgumentError("the update has no type")};
  }
}

std::vector<Outcome> Driver::read(const bfrt_proto::ReadRequest& request,
                                  std::vector<bfrt_proto::ReadResponse>& out) {
  const Target target = to_target(request.target());
  std::vector<Outcome> outcomes;
  auto add = [&out] {
    if (out.empty() || out.back().entities_size() >= kEntitiesPerResponse) out.emplace_back();
    return out.back().add_entities();
  };
  std::shared_lock lock(mutex_);
  for (const Entity& entity : request.entities()) outcomes.push_back({read_entity(entity, target, add)});
  return outcomes;
}

absl::Status Driver::read_entity(const Entity& entity, const Target& target,
                                 const std::function<Entity*()>& add) const {
  switch (entity.entity_case()) {
    case Entity::kTableEntry:
      return read_entries(entity.table_entry(), target, add);
    case Entity::kTableUsage: {
      absl::StatusOr<Table*> table = find_table(entity.table_usage().table_id());
      if (!table.ok()) return table.status();
      absl::StatusOr<uint32_t> usage = (*table)->usage(target);
      if (!usage.ok()) return usage.status();
      bfrt_proto::TableUsage* const out = add()->mutable_table_usage();
      out->set_table_id(entity.table_usage().table_id());
      out->set_usage(*usage);
      return absl::OkStatus();
    }
    case Entity::kTableAttribute: {
      absl::StatusOr<Table*> table = find_table(entity.table_attribute().table_id());
      if (!table.ok()) return table.status();
      bfrt_proto::TableAttribute attribute = entity.table_attribute();
      if (absl::Status status = (*table)->get_attribute(&attribute); !status.ok()) return status;
      *add()->mutable_table_attribute() = std::move(attribute);
      return absl::OkStatus();
    }
    case Entity::kHandle: {
      absl::StatusOr<Table*> table = find_table(entity.handle().table_id());
      if (!table.ok()) return table.status();
      bfrt_proto::HandleId answer;
      answer.set_table_id(entity.handle().table_id());
      if (entity.handle().has_key()) {
        absl::StatusOr<Key> key = decode_key((*table)->info(), entity.handle().key());
        if (!key.ok()) return key.status();
        absl::StatusOr<tna::Handle> handle = (*table)->handle_of(target, *key);
        if (!handle.ok()) return handle.status();
        answer.set_handle_id(*handle);
      } else {
        absl::StatusOr<Key> key = (*table)->key_of(entity.handle().handle_id());
        if (!key.ok()) return key.status();
        encode_key((*table)->info(), *key, answer.mutable_key());
      }
      *add()->mutable_handle() = std::move(answer);
      return absl::OkStatus();
    }
    case Entity::kObjectId: {
      bfrt_proto::ObjectId answer = entity.object_id();
      if (absl::Status status = read_object_id(entity.object_id(), &answer); !status.ok()) return status;
      *add()->mutable_object_id() = std::move(answer);
      return absl::OkStatus();
    }
    case Entity::ENTITY_NOT_SET:
      return absl::InvalidArgumentError("the entity is empty");
    default:
      return absl::UnimplementedError("operations cannot be read");
  }
}

absl::Status Driver::read_entries(const bfrt_proto::TableEntry& wanted, const Target& target,
                                  const std::function<Entity*()>& add) const {
  absl::StatusOr<Table*> found = find_table(wanted.table_id());
  if (!found.ok()) return found.status();
  Table& table = **found;
  const TableInfo& info = table.info();
  ReadQuery query{.target = wanted.has_entry_tgt() ? to_target(wanted.entry_tgt()) : target,
                  .action_id = wanted.data().action_id(),
                  .from_hw = wanted.table_flags().from_hw() || wanted.table_read_flag().from_hw(),
                  .key_only = wanted.table_flags().key_only() || wanted.table_read_flag().key_only()};
  if (query.action_id != 0 && info.action(query.action_id) == nullptr) {
    return absl::NotFoundError(concat(info.name, ": no action with id ", query.action_id));
  }
  std::vector<uint32_t> fields;
  for (const auto& field : wanted.data().fields()) fields.push_back(field.field_id());
  const Emit emit = [&](const RowView& row) {
    bfrt_proto::TableEntry* const out = add()->mutable_table_entry();
    out->set_table_id(info.id);
    if (row.key != nullptr) {
      encode_key(info, *row.key, out->mutable_key());
    } else {
      out->set_is_default_entry(true);
    }
    if (!query.key_only) encode_data(info, *row.data, fields, out->mutable_data());
    if (wanted.has_entry_tgt()) {
      *out->mutable_entry_tgt() = wanted.entry_tgt();
      if (row.pipe >= 0) out->mutable_entry_tgt()->set_pipe_id(static_cast<uint32_t>(row.pipe));
    }
  };
  const bool keyed = wanted.value_case() != bfrt_proto::TableEntry::VALUE_NOT_SET;
  if (wanted.is_default_entry()) {
    return keyed ? invalid(table, "a default entry has no key") : table.read_default(query, emit);
  }
  if (!keyed) {
    if (absl::Status status = table.read_all(query, emit); !status.ok()) return status;
    return table.read_default(query, emit);
  }
  absl::StatusOr<Key> key = wanted.value_case() == bfrt_proto::TableEntry::kKey
                                ? decode_key(info, wanted.key())
                                : table.key_of(wanted.handle_id());
  if (!key.ok()) return key.status();
  return table.read(query, *key, emit);
}

absl::Status Driver::read_object_id(const bfrt_proto::ObjectId& wanted, bfrt_proto::ObjectId* out) const {
  auto missing = [](std::string_view kind, std::string_view name) {
    return absl::NotFoundError(concat("no ", kind, " is called '", name, "'"));
  };
  auto pick = [&](const auto& items, std::string_view kind, const std::string& name) -> absl::Status {
    for (const auto& item : items) {
      if (starts_at_dot(item.name, name)) {
        out->set_id(item.id);
        return absl::OkStatus();
      }
    }
    return missing(kind, name);
  };
  if (wanted.has_learn_object()) {
    const auto& object = wanted.learn_object();
    for (const LearnFilterInfo& filter : program_->learn_filters()) {
      if (!starts_at_dot(filter.name, object.learn_name())) continue;
      if (object.has_data_field_name()) return pick(filter.fields, "field", object.data_field_name().field());
      out->set_id(filter.id);
      return absl::OkStatus();
    }
    return missing("learn filter", object.learn_name());
  }
  const auto& object = wanted.table_object();
  const TableInfo* info = nullptr;
  for (const Schema* schema : {program_.get(), fixed_.get()}) {
    for (const TableInfo& candidate : schema->tables()) {
      if (info == nullptr && starts_at_dot(candidate.name, object.table_name())) info = &candidate;
    }
  }
  if (info == nullptr) return missing("table", object.table_name());
  using Names = bfrt_proto::ObjectId::TableObject;
  switch (object.names_case()) {
    case Names::kActionName:
      return pick(info->actions, "action", object.action_name().action());
    case Names::kKeyFieldName:
      return pick(info->key, "key field", object.key_field_name().field());
    case Names::kDataFieldName: {
      for (const ActionInfo& action : info->actions) {
        if (starts_at_dot(action.name, object.data_field_name().action()) &&
            pick(action.data, "data field", object.data_field_name().field()).ok()) {
          return absl::OkStatus();
        }
      }
      return pick(info->data, "data field", object.data_field_name().field());
    }
    default:
      out->set_id(info->id);
      return absl::OkStatus();
  }
}

void Driver::wipe() {
  std::unique_lock lock(mutex_);
  Transaction transaction(false);
  WriteContext context{.transaction = transaction, .target = {}, .client = {}};
  for (auto& table : tables_) table->wipe(context);
  transaction.commit(device_.executor());
}

void Driver::tick() {
  if (options_.twin != nullptr && !program_->learn_filters().empty()) {
    std::vector<tna::Digest> packed;
    device_.run([&] { options_.twin->take_digests(packed); });
    for (const tna::Digest& digest : packed) (void)digests_->push(digest);  // what it refuses is counted
  }
  const std::vector<bfrt_proto::StreamMessageResponse> lists = digests_->take();
  if (ticking_.empty() && lists.empty()) return;
  std::unique_lock lock(mutex_);
  for (const bfrt_proto::StreamMessageResponse& list : lists) device_.notify(list);
  const int64_t now_ns = device_.clock->now_ns();
  for (Table* table : ticking_) table->tick(now_ns);
}

void Driver::set_notifier(std::function<void(const bfrt_proto::StreamMessageResponse&)> notifier) {
  std::unique_lock lock(mutex_);
  notifier_ = std::move(notifier);
}

}  // namespace l3dml::server
