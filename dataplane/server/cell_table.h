// Tables that are an array: every index below the size exists from the start, so INSERT is a write and there
// is no single delete. Cells that nobody wrote cost nothing. Registers have one value per pipe, counters are
// summed over the pipes asked for; both live in the pipeline where the program has a twin for them. See Table
// for threads and failure.
#pragma once

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "dataplane/server/table.h"

namespace l3dml::server {

class CellTable : public Table {
 public:
  CellTable(const TableInfo& info, const Device& device);

  absl::Status insert(WriteContext& context, Key key, const Data& data) override;
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status reset(WriteContext& context, const Key& key) override;
  absl::Status clear(WriteContext& context) override;
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  absl::StatusOr<tna::Handle> handle_of(const Target&, const Key& key) override;
  absl::StatusOr<Key> key_of(tna::Handle handle) override;
  bool contains(const Target&, const Key&) const override { return true; }
  void wipe(WriteContext& context) override;

 protected:
  // A cell was written or (index absent) all of them; leave work in the transaction.
  virtual void changed(WriteContext&, std::optional<uint32_t> /*index*/) {}
  // May a cell have these values?
  virtual absl::Status check_cell(const Fields&) const { return absl::OkStatus(); }
  // Reads `count` cells from `first`, filling one Data each. The base takes them from the shadow.
  virtual absl::Status fetch(const ReadQuery& query, uint32_t first, uint32_t count, std::vector<Data>& out);

  absl::StatusOr<uint32_t> index_of(const Key& key) const;
  absl::StatusOr<std::pair<unsigned, unsigned>> pipes_of(const Target& target) const;  // [first, last)
  const Fields& cell(uint64_t position) const;  // position: index, or pipe * size + index
  absl::Status write_cell(WriteContext& context, uint64_t position, const Data& data);
  // The pipeline may have been built with fewer cells than the program's text says.
  void limit_size(uint32_t cells) { size_ = std::min(size_, cells); }
  const Fields& initial() const { return initial_; }

 private:
  uint32_t size_;  // cells
  Fields initial_;
  absl::flat_hash_map<uint64_t, Fields> cells_;
};

class RegisterTable : public CellTable {
 public:
  RegisterTable(const TableInfo& info, const Device& device);
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status clear(WriteContext& context) override;

 protected:
  absl::Status fetch(const ReadQuery& query, uint32_t first, uint32_t count, std::vector<Data>& out) override;

 private:
  tna::RegisterTwin* const twin_;
};

class CounterTable : public CellTable {
 public:
  CounterTable(const TableInfo& info, const Device& device);
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status clear(WriteContext& context) override;

 protected:
  absl::Status fetch(const ReadQuery& query, uint32_t first, uint32_t count, std::vector<Data>& out) override;

 private:
  tna::CounterTwin* const twin_;
};

}  // namespace l3dml::server
