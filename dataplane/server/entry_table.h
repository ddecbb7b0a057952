// Tables of keyed entries: match-action tables, value sets, port metadata, action profiles, and every keyed
// fixed or debug table that has no life of its own. Keeps entries by handle (order of arrival), finds them by
// canonical key, and tells the program's twin what was accepted. See Table for threads and failure.
#pragma once

#include <map>

#include "absl/container/flat_hash_map.h"
#include "dataplane/server/table.h"

namespace l3dml::server {

class EntryTable : public Table {
 public:
  EntryTable(const TableInfo& info, const Device& device);

  absl::Status insert(WriteContext& context, Key key, const Data& data) override;
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status remove(WriteContext& context, const Key& key) override;
  absl::Status clear(WriteContext& context) override;
  absl::Status set_default(WriteContext& context, const Data& data) override;
  absl::Status reset_default(WriteContext& context) override;
  bool contains(const Key& key) const override { return by_key_.contains(key.index); }

  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  absl::Status read_default(const ReadQuery& query, const Emit& emit) override;
  absl::StatusOr<uint32_t> usage() override { return static_cast<uint32_t>(rows_.size()); }
  absl::StatusOr<tna::Handle> handle_of(const Key& key) override;
  absl::StatusOr<Key> key_of(tna::Handle handle) override;
  void wipe(WriteContext& context) override;

 protected:
  struct Row {
    Key key;
    Data data;
  };
  using Rows = std::map<tna::Handle, Row>;

  // What a subclass adds. check_row: may this entry become part of the table (after completion of its
  // fields)? stored / removed: an entry came, changed (old is then its former data) or went; leave work in
  // the transaction. present: fill in values that only exist when asked for.
  virtual absl::Status check_row(const Key&, const Data&, const Row* /*old*/) { return absl::OkStatus(); }
  virtual void stored(WriteContext&, tna::Handle, const Row&, const Data* /*old*/) {}
  virtual void removed(WriteContext&, tna::Handle, const Row&) {}
  virtual absl::Status check_remove(const Row&) { return absl::OkStatus(); }
  virtual void present(const ReadQuery&, tna::Handle, const Key&, Data&) {}
  // Is there anything for present() to do? Saves a copy per entry.
  virtual bool presents() const { return false; }

  const Row* find(const Key& key) const;
  const Rows& rows() const { return rows_; }
  tna::Entry to_entry(const Key* key, const Data& data) const;

 private:
  absl::StatusOr<Data> complete(const Data& given, const Data* old) const;
  absl::Status check_action(const Data& data, bool for_default) const;
  void emit_row(const ReadQuery& query, tna::Handle handle, const Row& row, const Emit& emit);
  void put(WriteContext& context, tna::Handle handle, Row row);
  void erase(WriteContext& context, tna::Handle handle);

  tna::TableTwin* const twin_;
  Rows rows_;
  absl::flat_hash_map<std::string, tna::Handle> by_key_;
  std::optional<Data> default_;
  tna::Handle next_handle_ = 1;
};

}  // namespace l3dml::server
