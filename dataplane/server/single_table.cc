#include "dataplane/server/single_table.h"

#include "dataplane/server/codec.h"

namespace l3dml::server {

SingleTable::SingleTable(const TableInfo& info, const Device& device) : Table(info, device) {
  if (info.type == "DynHashAlgorithm" && !info.actions.empty()) {
    initial_.action_id = info.actions.front().id;
    for (const FieldInfo& field : info.actions.front().data)
      initial_.fields.push_back({field.id, field.initial});
  }
  for (const FieldInfo& field : info.data) initial_.fields.push_back({field.id, field.initial});
  value_ = initial_;
}

void SingleTable::set_initial(uint32_t field_id, Value value) {
  set_field(initial_.fields, field_id, value);
  set_field(value_.fields, field_id, std::move(value));
}

absl::Status SingleTable::set_default(WriteContext& context, const Data& data) {
  Data next = data;
  if (next.action_id == 0) next.action_id = value_.action_id;
  Fields kept;
  for (const FieldValue& field : value_.fields) {
    bool table_level = false;
    for (const FieldInfo& info : info_.data) table_level = table_level || info.id == field.id;
    if (table_level || next.action_id == value_.action_id) kept.push_back(field);
  }
  absl::StatusOr<Fields> fields = complete_fields(info_, next, &kept);
  if (!fields.ok()) return fields.status();
  context.transaction.on_undo([this, old = value_] { value_ = old; });
  value_ = Data{next.action_id, *std::move(fields)};
  return absl::OkStatus();
}

absl::Status SingleTable::reset_default(WriteContext& context) {
  context.transaction.on_undo([this, old = value_] { value_ = old; });
  value_ = initial_;
  return absl::OkStatus();
}

absl::Status SingleTable::read_default(const ReadQuery& query, const Emit& emit) {
  if (query.action_id != 0 && value_.action_id != query.action_id) return absl::OkStatus();
  emit({nullptr, &value_, 0});
  return absl::OkStatus();
}

}  // namespace l3dml::server
