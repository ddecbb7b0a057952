#include "dataplane/server/debug_tables.h"

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {

bool DebugCounterTable::known(const std::string& name) const {
  const TableInfo* const table = device_.program->table(name);
  return table != nullptr && table->kind == TableKind::match;
}

Data DebugCounterTable::initial() const {
  Data data;
  for (const FieldInfo& field : info_.data) data.fields.push_back({field.id, field.initial});
  return data;
}

absl::Status DebugCounterTable::modify(WriteContext& context, const Key& key, const Data& data) {
  if (contains(context.target, key)) return EntryTable::modify(context, key, data);
  const std::string& name = key.fields[0].value;
  if (!known(name))
    return error(absl::StatusCode::kNotFound, concat("the program has no match table ", name));
  return EntryTable::insert(context, key, data);
}

absl::Status DebugCounterTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  if (contains(query.target, key)) return EntryTable::read(query, key, emit);
  const std::string& name = key.fields[0].value;
  if (!known(name))
    return error(absl::StatusCode::kNotFound, concat("the program has no match table ", name));
  const Data data = initial();
  emit({&key, &data});
  return absl::OkStatus();
}

absl::Status DebugCounterTable::read_all(const ReadQuery& query, const Emit& emit) {
  for (const TableInfo& table : device_.program->tables()) {
    if (table.kind != TableKind::match) continue;
    Key key;
    key.fields.resize(1);
    key.fields[0].value = table.name;
    key.index = canonical_index(info_, key);
    if (absl::Status status = DebugCounterTable::read(query, key, emit); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::unique_ptr<Table> make_debug_table(const TableInfo& info, const Device& device) {
  if (info.type == "SnapshotData" || info.type == "SnapshotLiveness")
    return std::make_unique<CaptureTable>(info, device);
  const bool one_number = info.key.size() == 1 && info.key[0].width == 32;
  if (info.type == "SnapshotTrigger" && one_number) return std::make_unique<CellTable>(info, device);
  if (info.type == "TblDbgCnt" && info.key.size() == 1 && info.key[0].type == FieldType::text)
    return std::make_unique<DebugCounterTable>(info, device);
  return nullptr;
}

}  // namespace l3dml::server
