// The controller's view of a bf-rt.json: names to ids and widths. Parsed from what the switch itself says it
// runs, so a controller never carries a copy of the program. Immutable, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace l3dml::control::target {

struct SchemaField {
  enum class Type : uint8_t { bytes, boolean, real, text, container };
  uint32_t id = 0;
  std::string name;
  Type type = Type::bytes;
  unsigned width = 0;  // bits
  bool repeated = false;
};

struct SchemaAction {
  uint32_t id = 0;
  std::string name;
  std::vector<SchemaField> data;
};

struct SchemaTable {
  uint32_t id = 0;
  std::string name;
  std::string type;  // table_type of the file
  uint32_t size = 0;
  bool is_const = false;
  std::vector<SchemaField> key;
  std::vector<SchemaAction> actions;
  std::vector<SchemaField> data;

  // Names may be dotted suffixes. NOT_FOUND, or INVALID_ARGUMENT when two fit.
  absl::StatusOr<const SchemaField*> key_field(std::string_view field) const;
  absl::StatusOr<const SchemaAction*> action(std::string_view action) const;
  absl::StatusOr<const SchemaField*> data_field(const SchemaAction* action, std::string_view field) const;
  const SchemaAction* action(uint32_t action_id) const;
  const SchemaField* key_field(uint32_t field_id) const;
  const SchemaField* data_field(uint32_t action_id, uint32_t field_id) const;
};

struct SchemaDigest {
  uint32_t id = 0;
  std::string name;
  std::vector<SchemaField> fields;
};

class TargetSchema {
 public:
  // The program's tables and the fixed ones (may be empty).
  static absl::StatusOr<std::shared_ptr<const TargetSchema>> parse(const std::string& program_json,
                                                                   const std::string& fixed_json);

  absl::StatusOr<const SchemaTable*> table(std::string_view name) const;  // full name or unique dotted suffix
  const SchemaTable* table(uint32_t id) const;
  const SchemaDigest* digest(uint32_t id) const;
  const std::vector<SchemaTable>& tables() const { return tables_; }

 private:
  std::vector<SchemaTable> tables_;
  std::vector<SchemaDigest> digests_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<uint32_t, size_t> by_id_;
};

}  // namespace l3dml::control::target
