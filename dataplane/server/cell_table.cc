#include "dataplane/server/cell_table.h"

#include <algorithm>
#include <utility>

#include "dataplane/server/codec.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Cells read in one pause of the pipeline: some microseconds.
constexpr uint32_t kCellsPerPause = 1024;

Key index_key(const TableInfo& info, uint32_t index) {
  tna::MatchField field;
  field.value = from_uint(index, info.key[0].byte_count());
  Key key;
  key.index = field.value;
  key.fields.push_back(std::move(field));
  return key;
}

}  // namespace

CellTable::CellTable(const TableInfo& info, const Device& device) : Table(info, device), size_(info.size) {
  for (const FieldInfo& field : info.data) initial_.push_back({field.id, field.initial});
}

absl::StatusOr<uint32_t> CellTable::index_of(const Key& key) const {
  const uint64_t index = key.fields.empty() ? 0 : to_uint(key.fields[0].value);
  if (index >= size_) {
    return error(absl::StatusCode::kInvalidArgument, concat("index ", index, " is not below ", size_));
  }
  return static_cast<uint32_t>(index);
}

const Fields& CellTable::cell(uint64_t position) const {
  const auto found = cells_.find(position);
  return found == cells_.end() ? initial_ : found->second;
}

absl::Status CellTable::write_cell(WriteContext& context, uint64_t position, const Data& data) {
  const Fields& old = cell(position);
  absl::StatusOr<Fields> fields = complete_fields(info_, data, &old);
  if (!fields.ok()) return fields.status();
  if (absl::Status status = check_cell(*fields); !status.ok()) return status;
  context.transaction.on_undo([this, position, old] { cells_[position] = old; });
  cells_[position] = *std::move(fields);
  return absl::OkStatus();
}

absl::Status CellTable::insert(WriteContext& context, Key key, const Data& data) {
  return modify(context, key, data);
}

absl::Status CellTable::modify(WriteContext& context, const Key& key, const Data& data) {
  absl::StatusOr<uint32_t> index = index_of(key);
  if (!index.ok()) return index.status();
  if (absl::Status status = write_cell(context, *index, data); !status.ok()) return status;
  changed(context, *index);
  return absl::OkStatus();
}

absl::Status CellTable::reset(WriteContext& context, const Key& key) {
  return modify(context, key, Data{0, initial_});
}

absl::Status CellTable::clear(WriteContext& context) {
  auto old = std::exchange(cells_, {});
  context.transaction.on_undo([this, old = std::move(old)] { cells_ = old; });
  changed(context, std::nullopt);
  return absl::OkStatus();
}

absl::Status CellTable::fetch(const ReadQuery&, uint32_t first, uint32_t count, std::vector<Data>& out) {
  for (uint32_t i = 0; i < count; ++i) out[i].fields = cell(first + i);
  return absl::OkStatus();
}

absl::Status CellTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  absl::StatusOr<uint32_t> index = index_of(key);
  if (!index.ok()) return index.status();
  std::vector<Data> values(1);
  if (absl::Status status = fetch(query, *index, 1, values); !status.ok()) return status;
  emit({&key, &values[0], *index});
  return absl::OkStatus();
}

absl::Status CellTable::read_all(const ReadQuery& query, const Emit& emit) {
  for (uint32_t first = 0; first < size_; first += kCellsPerPause) {
    const uint32_t count = std::min(kCellsPerPause, size_ - first);
    std::vector<Data> values(count);
    if (absl::Status status = fetch(query, first, count, values); !status.ok()) return status;
    for (uint32_t i = 0; i < count; ++i) {
      const Key key = index_key(info_, first + i);
      emit({&key, &values[i], first + i});
    }
  }
  return absl::OkStatus();
}

void CellTable::wipe(WriteContext& context) {
  if (absl::Status status = clear(context); !status.ok()) (void)CellTable::clear(context);
  forget_attributes();
}

absl::StatusOr<tna::Handle> CellTable::handle_of(const Target&, const Key& key) { return index_of(key); }

absl::StatusOr<Key> CellTable::key_of(tna::Handle handle) {
  if (handle >= size_) return error(absl::StatusCode::kNotFound, concat("no entry has handle ", handle));
  return index_key(info_, handle);
}

RegisterTable::RegisterTable(const TableInfo& info, const Device& device)
    : CellTable(info, device),
      twin_(device.twin == nullptr ? nullptr : device.twin->register_array(info.name)) {
  if (twin_ != nullptr) limit_size(twin_->size());
}

absl::StatusOr<std::pair<unsigned, unsigned>> CellTable::pipes_of(const Target& target) const {
  if (target.pipe == kAllPipes) return std::pair(0u, device_.pipes);
  if (target.pipe >= device_.pipes) {
    return error(absl::StatusCode::kInvalidArgument,
                 concat("pipe ", target.pipe, " is not below ", device_.pipes));
  }
  return std::pair(target.pipe, target.pipe + 1);
}

absl::Status RegisterTable::modify(WriteContext& context, const Key& key, const Data& data) {
  absl::StatusOr<uint32_t> index = index_of(key);
  if (!index.ok()) return index.status();
  auto pipes = pipes_of(context.target);
  if (!pipes.ok()) return pipes.status();
  if (twin_ == nullptr) {
    for (unsigned pipe = pipes->first; pipe < pipes->second; ++pipe) {
      const uint64_t position = uint64_t{pipe} * info_.size + *index;
      if (absl::Status status = write_cell(context, position, data); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // A field that is not given keeps the value it has when the pipeline is told.
  std::array<std::optional<uint64_t>, 2> given;
  for (size_t i = 0; i < info_.data.size() && i < given.size(); ++i) {
    if (find_field(data.fields, info_.data[i].id) != nullptr)
      given[i] = get_uint(data.fields, info_.data[i].id);
  }
  context.transaction.on_commit([twin = twin_, pipes = *pipes, index = *index, given] {
    for (unsigned pipe = pipes.first; pipe < pipes.second; ++pipe) {
      std::array<uint64_t, 2> value{};
      if (!given[0] || !given[1]) value = twin->read(pipe, index);
      for (size_t i = 0; i < value.size(); ++i) value[i] = given[i].value_or(value[i]);
      twin->write(pipe, index, value);
    }
  });
  return absl::OkStatus();
}

absl::Status RegisterTable::clear(WriteContext& context) {
  if (twin_ == nullptr) return CellTable::clear(context);
  context.transaction.on_commit([twin = twin_, pipes = device_.pipes] {
    const std::array<uint64_t, 2> initial = twin->initial();
    for (unsigned pipe = 0; pipe < pipes; ++pipe) {
      for (uint32_t index = 0; index < twin->size(); ++index) twin->write(pipe, index, initial);
    }
  });
  return absl::OkStatus();
}

absl::Status RegisterTable::fetch(const ReadQuery& query, uint32_t first, uint32_t count,
                                  std::vector<Data>& out) {
  auto pipes = pipes_of(query.target);
  if (!pipes.ok()) return pipes.status();
  const unsigned pipe_count = pipes->second - pipes->first;
  // All pipes' values of the first field come first, then all of the second.
  for (Data& data : out) data.fields.resize(info_.data.size() * pipe_count);
  if (twin_ == nullptr) {
    for (uint32_t i = 0; i < count; ++i) {
      for (unsigned pipe = 0; pipe < pipe_count; ++pipe) {
        const Fields& values = cell(uint64_t{pipes->first + pipe} * info_.size + first + i);
        for (size_t f = 0; f < values.size(); ++f) out[i].fields[f * pipe_count + pipe] = values[f];
      }
    }
    return absl::OkStatus();
  }
  std::vector<std::array<uint64_t, 2>> raw(size_t{count} * pipe_count);
  device_.run([&] {
    for (uint32_t i = 0; i < count; ++i) {
      for (unsigned pipe = 0; pipe < pipe_count; ++pipe) {
        raw[size_t{i} * pipe_count + pipe] = twin_->read(pipes->first + pipe, first + i);
      }
    }
  });
  for (uint32_t i = 0; i < count; ++i) {
    for (size_t f = 0; f < info_.data.size(); ++f) {
      for (unsigned pipe = 0; pipe < pipe_count; ++pipe) {
        const uint64_t value = f < 2 ? raw[size_t{i} * pipe_count + pipe][f] : 0;
        out[i].fields[f * pipe_count + pipe] = {info_.data[f].id,
                                                from_uint(value, info_.data[f].byte_count())};
      }
    }
  }
  return absl::OkStatus();
}

CounterTable::CounterTable(const TableInfo& info, const Device& device)
    : CellTable(info, device), twin_(device.twin == nullptr ? nullptr : device.twin->counter(info.name)) {
  if (twin_ != nullptr) limit_size(twin_->size());
}

// A counter read over all pipes is their sum: written for all pipes, the value goes to the first and the
// others start from zero.
absl::Status CounterTable::modify(WriteContext& context, const Key& key, const Data& data) {
  absl::StatusOr<uint32_t> index = index_of(key);
  if (!index.ok()) return index.status();
  auto pipes = pipes_of(context.target);
  if (!pipes.ok()) return pipes.status();
  if (twin_ == nullptr) {
    Data given = data;
    for (unsigned pipe = pipes->first; pipe < pipes->second; ++pipe) {
      const uint64_t position = uint64_t{pipe} * info_.size + *index;
      if (absl::Status status = write_cell(context, position, given); !status.ok()) return status;
      for (FieldValue& field : given.fields) field.value = from_uint(0, 8);
    }
    return absl::OkStatus();
  }
  std::optional<uint64_t> bytes, packets;
  for (const FieldInfo& field : info_.data) {
    if (find_field(data.fields, field.id) == nullptr) continue;
    (field.role == Role::counter_bytes ? bytes : packets) = get_uint(data.fields, field.id);
  }
  context.transaction.on_commit([twin = twin_, pipes = *pipes, index = *index, bytes, packets]() mutable {
    for (unsigned pipe = pipes.first; pipe < pipes.second; ++pipe) {
      const tna::CounterValue old = twin->read(pipe, index);
      twin->write(pipe, index, {bytes.value_or(old.bytes), packets.value_or(old.packets)});
      if (bytes) bytes = 0;
      if (packets) packets = 0;
    }
  });
  return absl::OkStatus();
}

absl::Status CounterTable::clear(WriteContext& context) {
  if (twin_ == nullptr) return CellTable::clear(context);
  context.transaction.on_commit([twin = twin_, pipes = device_.pipes] {
    for (unsigned pipe = 0; pipe < pipes; ++pipe) {
      for (uint32_t index = 0; index < twin->size(); ++index) twin->write(pipe, index, {});
    }
  });
  return absl::OkStatus();
}

absl::Status CounterTable::fetch(const ReadQuery& query, uint32_t first, uint32_t count,
                                 std::vector<Data>& out) {
  auto pipes = pipes_of(query.target);
  if (!pipes.ok()) return pipes.status();
  std::vector<tna::CounterValue> sums(count);
  if (twin_ != nullptr) {
    device_.run([&] {
      for (uint32_t i = 0; i < count; ++i) {
        for (unsigned pipe = pipes->first; pipe < pipes->second; ++pipe) {
          const tna::CounterValue value = twin_->read(pipe, first + i);
          sums[i].bytes += value.bytes;
          sums[i].packets += value.packets;
        }
      }
    });
  }
  for (uint32_t i = 0; i < count; ++i) {
    for (const FieldInfo& field : info_.data) {
      uint64_t value = field.role == Role::counter_bytes ? sums[i].bytes : sums[i].packets;
      for (unsigned pipe = pipes->first; twin_ == nullptr && pipe < pipes->second; ++pipe)
        value += get_uint(cell(uint64_t{pipe} * info_.size + first + i), field.id);
      out[i].fields.push_back({field.id, from_uint(value, field.byte_count())});
    }
  }
  return absl::OkStatus();
}

}  // namespace l3dml::server
