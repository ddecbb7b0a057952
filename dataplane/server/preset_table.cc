#include "dataplane/server/preset_table.h"

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {

PresetTable::PresetTable(const TableInfo& info, const Device& device, std::vector<Key> keys, bool per_pipe)
    : Table(info, device), keys_(std::move(keys)), per_pipe_(per_pipe) {
  for (const FieldInfo& field : info.data) initial_.fields.push_back({field.id, field.initial});
  for (size_t i = 0; i < keys_.size(); ++i) index_.emplace(keys_[i].index, i);
}

std::vector<Key> PresetTable::number_keys(const std::vector<uint32_t>& numbers, size_t byte_count) {
  std::vector<Key> keys;
  for (uint32_t number : numbers) {
    Key key;
    key.fields.emplace_back();
    key.fields[0].value = key.index = from_uint(number, byte_count);
    keys.push_back(std::move(key));
  }
  return keys;
}

const Data& PresetTable::row(Place place) const {
  const auto found = rows_.find(position(place));
  return found == rows_.end() ? initial_ : found->second;
}

absl::StatusOr<size_t> PresetTable::index_of(const Key& key) const {
  const auto found = index_.find(key.index);
  if (found == index_.end())
    return error(absl::StatusCode::kInvalidArgument, "the device has nothing that this key names");
  return found->second;
}

// [first, last). A read of all pipes gives the lowest, as for any symmetric table.
absl::StatusOr<std::pair<unsigned, unsigned>> PresetTable::pipes_of(const Target& target,
                                                                    bool writing) const {
  if (!per_pipe_) return std::pair(0u, 1u);
  if (target.pipe == kAllPipes) return std::pair(0u, writing ? device_.pipes : 1u);
  if (target.pipe < device_.pipes) return std::pair(target.pipe, target.pipe + 1);
  return error(absl::StatusCode::kInvalidArgument, concat("there is no pipe ", target.pipe));
}

absl::Status PresetTable::modify(WriteContext& context, const Key& key, const Data& data) {
  const absl::StatusOr<size_t> index = index_of(key);
  if (!index.ok()) return index.status();
  const auto pipes = pipes_of(context.target, true);
  if (!pipes.ok()) return pipes.status();
  std::vector<Data> next;
  for (unsigned pipe = pipes->first; pipe < pipes->second; ++pipe) {
    const Data& old = row({pipe, *index});
    Data full{data.action_id != 0 ? data.action_id : old.action_id, data.fields};
    Fields kept;  // parameters of another action mean nothing to the new one
    for (const FieldValue& field : old.fields)
      if (full.action_id == old.action_id || info_.data_field(0, field.id) != nullptr) kept.push_back(field);
    absl::StatusOr<Fields> fields = complete_fields(info_, full, &kept);
    if (!fields.ok()) return fields.status();
    full.fields = *std::move(fields);
    if (absl::Status status = check({pipe, *index}, full, data); !status.ok()) return status;
    next.push_back(std::move(full));
  }
  for (unsigned pipe = pipes->first; pipe < pipes->second; ++pipe) {
    const Place place{pipe, *index};
    context.transaction.on_undo([this, at = position(place), old = row(place)] { rows_[at] = old; });
    rows_[position(place)] = std::move(next[pipe - pipes->first]);
    changed(context, place);
  }
  return absl::OkStatus();
}

absl::Status PresetTable::clear(WriteContext& context) {
  const auto old = std::exchange(rows_, {});
  context.transaction.on_undo([this, old] { rows_ = old; });
  for (const auto& [at, data] : old)
    changed(context, {static_cast<unsigned>(at / keys_.size()), static_cast<size_t>(at % keys_.size())});
  return absl::OkStatus();
}

void PresetTable::wipe(WriteContext& context) {
  (void)PresetTable::clear(context);  // cannot fail
  forget_attributes();
}

void PresetTable::emit_all(const ReadQuery& query, const std::vector<Place>& places, const Emit& emit) {
  std::vector<Data> values;
  for (const Place& place : places) values.push_back(row(place));
  if (presents() && !query.key_only) {
    device_.run([&] {
      for (size_t i = 0; i < places.size(); ++i) present(places[i], values[i].fields);
    });
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (query.action_id != 0 && values[i].action_id != query.action_id) continue;
    emit({&keys_[places[i].index], &values[i], static_cast<tna::Handle>(position(places[i]))});
  }
}

absl::Status PresetTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  const absl::StatusOr<size_t> index = index_of(key);
  if (!index.ok()) return index.status();
  const auto pipes = pipes_of(query.target, false);
  if (!pipes.ok()) return pipes.status();
  emit_all(query, {{pipes->first, *index}}, emit);
  return absl::OkStatus();
}

absl::Status PresetTable::read_all(const ReadQuery& query, const Emit& emit) {
  const auto pipes = pipes_of(query.target, false);
  if (!pipes.ok()) return pipes.status();
  std::vector<Place> places;
  for (size_t i = 0; i < keys_.size(); ++i) places.push_back({pipes->first, i});
  emit_all(query, places, emit);
  return absl::OkStatus();
}

}  // namespace l3dml::server
