// Values of keys and data fields inside the driver. Integers and bit strings are kept as they travel:
// big-endian strings of exactly ceil(width / 8) bytes with zero spare bits, so that storing and reading back
// cost no conversion. Plain values, no ownership rules, no failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dataplane/tna/twin.h"

namespace l3dml::server {

struct FieldValue;
using Fields = std::vector<FieldValue>;

// monostate: a field that is known but not set. std::string: bytes, integers (big-endian) and text; the
// schema tells which.
using Value = std::variant<std::monostate, std::string, bool, float, std::vector<uint32_t>, std::vector<bool>,
                           std::vector<std::string>, std::vector<Fields>>;

struct FieldValue {
  uint32_t id = 0;
  Value value;
  bool operator==(const FieldValue&) const = default;
};

// A decoded key: fields in schema order without $MATCH_PRIORITY. `index` is its canonical form: two keys name
// the same entry exactly if their indexes are equal.
struct Key {
  std::vector<tna::MatchField> fields;
  uint32_t priority = 0;
  std::string index;
  int scope = -1;  // which pipes it belongs to (Scopes), where the key came from a handle; else -1
};

struct Data {
  uint32_t action_id = 0;  // 0: none
  Fields fields;
};

uint64_t to_uint(std::string_view big_endian);             // the low 64 bits
std::string from_uint(uint64_t value, size_t byte_count);  // the low bytes of value, big-endian

// The value of a field, or null when it is not among them.
const Value* find_field(const Fields& fields, uint32_t id);
Value* find_field(Fields& fields, uint32_t id);
// Typed look-ups with a fallback for absent or unset fields.
uint64_t get_uint(const Fields& fields, uint32_t id, uint64_t fallback = 0);
bool get_bool(const Fields& fields, uint32_t id, bool fallback = false);
std::string get_text(const Fields& fields, uint32_t id, std::string_view fallback = {});
std::vector<uint32_t> get_uints(const Fields& fields, uint32_t id);
std::vector<bool> get_bools(const Fields& fields, uint32_t id);
void set_field(Fields& fields, uint32_t id, Value value);  // replaces or appends

}  // namespace l3dml::server
