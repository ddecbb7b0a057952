// Action profiles and selectors: members (an action with its parameters), groups of members, and which member
// a hash picks. A member or group that something refers to cannot be deleted. See Table for threads and
// failure.
#pragma once

#include "dataplane/server/entry_table.h"

namespace l3dml::server {

// What other tables refer to by a number: members by groups and entries, groups by entries.
class ProfileTable : public EntryTable {
 public:
  using EntryTable::EntryTable;
  bool exists(uint32_t id) const;
  void hold(WriteContext& context, uint32_t id) { count(context, id, 1); }
  void release(WriteContext& context, uint32_t id) { count(context, id, -1); }

 protected:
  absl::Status check_remove(const Row& row) override;
  static uint32_t id_of(const Key& key) { return static_cast<uint32_t>(to_uint(key.fields[0].value)); }

 private:
  void count(WriteContext& context, uint32_t id, int by);
  absl::flat_hash_map<uint32_t, int> holders_;
};

using MemberTable = ProfileTable;

class SelectorTable final : public ProfileTable {
 public:
  SelectorTable(const TableInfo& info, const Device& device);
  absl::Status modify_inc(WriteContext& context, const Key& key, const Data& data) override;
  // The members that are in service, in order; null: there is no such group.
  std::optional<std::vector<uint32_t>> active_members(const Target& target, uint32_t group) const;

 protected:
  absl::StatusOr<Data> complete(const WriteContext&, const Data& given, const Data* old) const override;
  absl::Status check_row(const Key&, const Data& data, const Row* old) override;
  void stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) override;
  void removed(WriteContext& context, tna::Handle, const Row& row) override;

 private:
  struct Members {
    std::vector<uint32_t> ids;
    std::vector<bool> active;
  };
  Members members(const Fields& fields) const;
  Fields to_fields(const Members& members) const;
  void refer(WriteContext& context, const Data& data, bool hold) const;
  void announce(WriteContext& context, const Key& key, const Members& old, const Members& now) const;

  const uint32_t member_id_;  // field ids; 0: the program's text has no such field
  const uint32_t status_id_;
  const uint32_t size_id_;
  const uint32_t max_size_;  // what the program was compiled for; 0: no limit known
};

// Read only: group and hash in, member out.
class GroupMemberTable final : public Table {
 public:
  using Table::Table;
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery&, const Emit&) override {
    return absl::OkStatus();
  }  // answers, no entries
  void wipe(WriteContext&) override { forget_attributes(); }
};

}  // namespace l3dml::server
