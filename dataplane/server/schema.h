// What a bf-rt.json says: tables, their keys, actions and data fields, and learn filters (digests). Parsed
// once, immutable afterwards, so any thread may read it. A text that is not a usable schema is refused with
// the table and member that is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "dataplane/server/value.h"
#include "dataplane/tna/twin.h"

namespace l3dml::server {

enum class FieldType : uint8_t { bytes, uint, sint, boolean, real, text, container };

inline constexpr uint32_t kMatchPriorityId = 65537;

// What a field means to the driver, known by its name: releases of the compiler number some of them
// differently.
enum class Role : uint8_t {
  none,
  member,         // $ACTION_MEMBER_ID
  group,          // $SELECTOR_GROUP_ID
  member_status,  // $ACTION_MEMBER_STATUS
  group_size,     // $MAX_GROUP_SIZE
  ttl,            // $ENTRY_TTL, milliseconds
  hit_state,      // $ENTRY_HIT_STATE
  counter_bytes,
  counter_packets,
  meter,  // any field of a meter's specification
  lpf,
  wred,
};

struct FieldInfo {
  uint32_t id = 0;
  std::string name;
  FieldType type = FieldType::bytes;
  unsigned width = 0;  // bits; 0 where it has no meaning
  bool repeated = false;
  bool mandatory = false;
  bool read_only = false;
  bool is_register = false;  // one value per pipe
  Role role = Role::none;
  std::vector<std::string> choices;              // text only; empty: anything
  Value initial;                                 // default_value, else zero
  bool has_default = false;                      // the text gives a default_value
  std::vector<FieldInfo> members;                // container only
  tna::MatchKind match = tna::MatchKind::exact;  // keys only
  int choice_group = -1;                         // data of one `oneof` share a number
  size_t byte_count() const { return (width + 7) / 8; }
};

struct ActionInfo {
  uint32_t id = 0;
  std::string name;
  bool in_entries = true;  // may be used by an entry
  bool as_default = true;  // may be the default action
  std::vector<FieldInfo> data;
};

enum class TableKind : uint8_t {
  match,         // direct and indirect match-action, also without actions
  action,        // action profile members
  selector,      // groups of members
  group_member,  // which member of a group a hash picks
  register_array,
  counter,
  meter,      // meter, WRED, LPF: indexed specifications
  value_set,  // parser value set
  port_metadata,
  single,  // keyless: one default entry
  keyed,   // any other keyed table
};

struct TableInfo {
  uint32_t id = 0;
  std::string name;
  std::string type;  // table_type as in the file
  TableKind kind = TableKind::keyed;
  uint32_t size = 0;
  bool has_const_default = false;
  bool is_const = false;
  bool has_priority = false;
  std::vector<FieldInfo> key;  // without $MATCH_PRIORITY
  std::vector<ActionInfo> actions;
  std::vector<FieldInfo> data;  // beside or instead of action data
  std::vector<std::string> operations;
  std::vector<std::string> attributes;
  std::vector<uint32_t> depends_on;

  const ActionInfo* action(uint32_t action_id) const;
  const FieldInfo* data_field(uint32_t action_id, uint32_t field_id) const;
  const FieldInfo* data_with(Role role) const;  // the first such field beside action data, or null
  bool has_operation(std::string_view operation) const;
  bool has_attribute(std::string_view attribute) const;
};

struct LearnFilterInfo {
  uint32_t id = 0;
  std::string name;
  std::vector<FieldInfo> fields;
};

class Schema {
 public:
  static absl::StatusOr<std::shared_ptr<const Schema>> parse(std::string_view json_text);

  const std::vector<TableInfo>& tables() const { return tables_; }
  const std::vector<LearnFilterInfo>& learn_filters() const { return learn_filters_; }
  const TableInfo* table(uint32_t id) const;
  const TableInfo* table(std::string_view name) const;  // full name
  const LearnFilterInfo* learn_filter(std::string_view name) const;

 private:
  std::vector<TableInfo> tables_;
  std::vector<LearnFilterInfo> learn_filters_;
  absl::flat_hash_map<uint32_t, size_t> by_id_;
  absl::flat_hash_map<std::string, size_t> by_name_;
};

// The tables every device has ($PORT, $pre.*, $mirror.cfg, ...), as JSON text of the same shape.
std::string_view fixed_tables_json();

}  // namespace l3dml::server
