// The tables a compiler adds for looking into a chip: snapshots and the counter of a table's hits. In
// software there is no capture hardware, so captures are empty, but every table answers as its type does. See
// Table for threads and failure.
#pragma once

#include "dataplane/server/cell_table.h"
#include "dataplane/server/entry_table.h"

namespace l3dml::server {

// Captured data and liveness: only read, and nothing was captured.
class CaptureTable final : public Table {
 public:
  using Table::Table;
  absl::Status clear(WriteContext&) override { return absl::OkStatus(); }
  absl::Status read(const ReadQuery&, const Key&, const Emit&) override {
    return error(absl::StatusCode::kNotFound, "nothing was captured");
  }
  absl::Status read_all(const ReadQuery&, const Emit&) override { return absl::OkStatus(); }
  void wipe(WriteContext&) override { forget_attributes(); }
};

// What is counted per logical table: one cell for each match table of the program, by its name.
class DebugCounterTable final : public EntryTable {
 public:
  using EntryTable::EntryTable;
  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    return modify(context, key, data);
  }
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status remove(WriteContext&, const Key&) override { return unsupported("delete"); }
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  absl::StatusOr<uint32_t> usage(const Target&) override { return unsupported("usage"); }

 private:
  bool known(const std::string& name) const;
  Data initial() const;
};

// The right kind of table for a description, or null if it is none of these.
std::unique_ptr<Table> make_debug_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
