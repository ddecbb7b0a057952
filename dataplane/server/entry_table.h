// Tables of keyed entries: the base of match-action tables, value sets and action profiles, and all of port
// metadata and every keyed fixed or debug table that has no life of its own. Keeps entries by handle (order
// of arrival), finds them by canonical key (one set per scope of pipes), and tells the program's twin what
// was accepted. See Table for threads and failure.
#pragma once

#include <map>

#include "absl/container/flat_hash_map.h"
#include "dataplane/server/scopes.h"
#include "dataplane/server/table.h"

namespace l3dml::server {

class EntryTable : public Table {
 public:
  EntryTable(const TableInfo& info, const Device& device);

  absl::Status insert(WriteContext& context, Key key, const Data& data) override;
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status remove(WriteContext& context, const Key& key) override;
  absl::Status clear(WriteContext& context) override;
  bool contains(const Target& target, const Key& key) const override;

  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  absl::StatusOr<uint32_t> usage(const Target& target) override;
  absl::StatusOr<tna::Handle> handle_of(const Target& target, const Key& key) override;
  absl::StatusOr<Key> key_of(tna::Handle handle) override;
  void wipe(WriteContext& context) override;

 protected:
  struct Row {
    Key key;  // with its scope
    Data data;
  };
  using Rows = std::map<tna::Handle, Row>;

  // What a subclass adds.
  // complete: the whole row from what was given and what was there (null: a new one).
  virtual absl::StatusOr<Data> complete(const WriteContext&, const Data& given, const Data* old) const;
  // normalize: the key as the table sees it; normalizes: does it differ from what came?
  virtual bool normalizes() const { return false; }
  virtual void normalize(Key&) const {}
  // check_row: may this entry become part of the table (after completion of its fields)?
  virtual absl::Status check_row(const Key&, const Data&, const Row* /*old*/) { return absl::OkStatus(); }
  // stored / removed: an entry came, changed (old is then its former data) or went; leave work in the
  // transaction.
  virtual void stored(WriteContext&, tna::Handle, const Row&, const Data* /*old*/) {}
  virtual void removed(WriteContext&, tna::Handle, const Row&) {}
  virtual absl::Status check_remove(const Row&) { return absl::OkStatus(); }
  // present: fill in values that only exist when asked for; presents: is there anything to do? Saves a copy.
  virtual void present(const ReadQuery&, tna::Handle, const Key&, Data&) {}
  virtual bool presents() const { return false; }
  // Counters that the pipeline keeps for entries, one per handle (none: an empty list), fetched in one pause;
  // present_counters fills them in.
  virtual std::vector<tna::CounterValue> fetch_counters(const std::vector<tna::Handle>&) const { return {}; }
  virtual void present_counters(const tna::CounterValue&, Data&) const {}

  absl::Status check_attribute(const bfrt_proto::TableAttribute& attribute) override;
  void attribute_changed(WriteContext& context) override;

  absl::Status check_action(const Data& data, bool for_default) const;
  const Row* find(const Key& key, unsigned scope = 0) const;
  bool in_any_scope(const Key& key) const;
  const Rows& rows() const { return rows_; }
  Data& data_of(tna::Handle handle) { return rows_.at(handle).data; }
  const Scopes& scopes() const { return scopes_; }
  int reported_pipe(unsigned scope) const;
  tna::Entry to_entry(const Key* key, const Data& data) const;
  tna::TableTwin* twin() const { return twin_; }

 private:
  // The canonical key with the scope it lives in, and the scope.
  absl::StatusOr<unsigned> scope_of(const Target& target, const Key& key) const;
  std::string place(const Key& key, unsigned scope) const;
  absl::StatusOr<tna::Handle> locate(const Target& target, const Key& key) const;
  void emit_row(const ReadQuery& query, tna::Handle handle, const Row& row, const tna::CounterValue* live,
                const Emit& emit);
  void put(WriteContext& context, tna::Handle handle, Row row);
  void erase(WriteContext& context, tna::Handle handle);

  tna::TableTwin* const twin_;
  Scopes scopes_;
  Rows rows_;
  std::vector<uint32_t> rows_in_;  // by scope
  absl::flat_hash_map<std::string, tna::Handle> by_key_;
  tna::Handle next_handle_ = 1;
};

}  // namespace l3dml::server
