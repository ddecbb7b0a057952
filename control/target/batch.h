// What a controller says to a switch: keys, actions, and batches of updates, all by name. Values only; a name
// may be any dotted suffix that is unique ("forwarder.host6"), it is resolved by the target. Plain data, no
// failure here.
//
//   Batch batch;
//   batch.insert("forwarder.host6", Key{}.exact("hdr.ipv6.dst_addr", address),
//   Action{"forward"}.param("port", 9));
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace l3dml::control::target {

// A number, text, byte string (big-endian) or list. The schema decides how it travels: a number is widened to
// the field's size, a string is text or bytes. What is read back is a number up to 64 bits, bytes beyond.
class FieldValue {
 public:
  using Storage = std::variant<uint64_t, bool, float, std::string, std::vector<uint32_t>, std::vector<bool>,
                               std::vector<std::string>>;

  FieldValue() = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) FieldValue(T value) : storage_(static_cast<uint64_t>(value)) {}
  FieldValue(bool value) : storage_(value) {}
  FieldValue(float value) : storage_(value) {}
  FieldValue(std::string value) : storage_(std::move(value)) {}
  FieldValue(std::string_view value) : storage_(std::string(value)) {}
  FieldValue(const char* value) : storage_(std::string(value)) {}
  template <size_t N>
  FieldValue(const std::array<uint8_t, N>& bytes) : storage_(std::string(bytes.begin(), bytes.end())) {}
  FieldValue(std::vector<uint32_t> value) : storage_(std::move(value)) {}
  FieldValue(std::vector<bool> value) : storage_(std::move(value)) {}
  FieldValue(std::vector<std::string> value) : storage_(std::move(value)) {}

  const Storage& storage() const { return storage_; }
  uint64_t number() const;  // low 64 bits of a number or byte string, 0/1 of a bool; 0 otherwise
  bool flag() const { return number() != 0; }
  std::string text() const;  // of a string or byte string; empty otherwise
  std::vector<uint32_t> numbers() const;
  std::vector<bool> flags() const;

  friend bool operator==(const FieldValue&, const FieldValue&) = default;

 private:
  Storage storage_ = uint64_t{0};
};

struct KeyField {
  enum class Kind : uint8_t { exact, ternary, lpm, range, optional };
  std::string name;
  Kind kind = Kind::exact;
  FieldValue value;       // range: low end
  FieldValue mask;        // ternary: mask; range: high end
  int prefix_length = 0;  // lpm, bits
  bool valid = true;      // optional: false is don't care
  friend bool operator==(const KeyField&, const KeyField&) = default;
};

// Fields in any order; ternary, lpm, range and optional ones that are left out mean don't care.
class Key {
 public:
  Key& exact(std::string_view field, FieldValue value);
  Key& ternary(std::string_view field, FieldValue value, FieldValue mask);
  Key& lpm(std::string_view field, FieldValue value, int prefix_length);
  Key& range(std::string_view field, FieldValue low, FieldValue high);
  Key& optional(std::string_view field, FieldValue value);
  Key& priority(uint32_t value) { return exact("$MATCH_PRIORITY", value); }  // lower wins

  Key& add(KeyField field);
  const std::vector<KeyField>& fields() const { return fields_; }
  const KeyField* find(std::string_view field) const;  // full name or dotted suffix; null: not there
  friend bool operator==(const Key&, const Key&) = default;

 private:
  std::vector<KeyField> fields_;
};

// An action with parameters, or (without a name) the data of a table that has no actions.
class Action {
 public:
  Action() = default;
  explicit Action(std::string_view name) : name_(name) {}
  Action& param(std::string_view field, FieldValue value);

  const std::string& name() const { return name_; }
  using Fields = std::vector<std::pair<std::string, FieldValue>>;
  const Fields& fields() const { return fields_; }
  // The value of a field (per-pipe values: the first), or a zero. Full name or dotted suffix.
  FieldValue get(std::string_view field) const;
  bool has(std::string_view field) const;
  friend bool operator==(const Action&, const Action&) = default;

 private:
  std::string name_;
  Fields fields_;
};
using Data = Action;

struct Row {
  Key key;
  Action action;
  bool is_default = false;
};

struct Update {
  enum class Kind : uint8_t {
    insert,
    modify,
    upsert,
    remove,
    clear,  // the whole table
    set_default,
    reset_default,
    add_members,  // $pre.mgid, $pre.ecmp: array elements
    remove_members,
    write_cell,  // register or counter by index
    operation,   // e.g. "SyncCounters"
  };
  Kind kind = Kind::insert;
  std::string table;
  Key key;
  Action action;                 // operation: its name
  uint32_t index = 0;            // write_cell
  std::vector<uint64_t> cells;   // write_cell: values in schema order
  std::optional<uint32_t> pipe;  // absent: all
};

class Batch {
 public:
  Batch& insert(std::string_view table, Key key, Action action = {});
  Batch& modify(std::string_view table, Key key, Action action);
  Batch& upsert(std::string_view table, Key key, Action action = {});
  Batch& remove(std::string_view table, Key key);
  Batch& clear(std::string_view table);
  Batch& set_default(std::string_view table, Action action);
  Batch& reset_default(std::string_view table);
  Batch& add_members(std::string_view table, Key key, Action members);
  Batch& remove_members(std::string_view table, Key key, Action members);
  Batch& write_register(std::string_view table, uint32_t index, uint64_t first, uint64_t second = 0);
  Batch& write_counter(std::string_view table, uint32_t index, uint64_t bytes, uint64_t packets);
  Batch& operation(std::string_view table, std::string_view name);
  Batch& on_pipe(uint32_t pipe);  // of the update just added

  // A multicast group and its nodes, in one go: node ids are the caller's, unique over all groups.
  struct Node {
    uint32_t id = 0;
    uint16_t rid = 0;
    std::vector<uint32_t> ports;
    std::optional<uint16_t> xid;  // level 1 exclusion id
  };
  Batch& add_group(uint16_t group, const std::vector<Node>& nodes);
  Batch& remove_group(uint16_t group, const std::vector<uint32_t>& node_ids);

  bool empty() const { return updates_.empty(); }
  size_t size() const { return updates_.size(); }
  const std::vector<Update>& updates() const { return updates_; }
  void append(const Batch& other);

 private:
  Batch& add(Update update);
  std::vector<Update> updates_;
};

// Does a full name end in this dotted suffix (or equal it)?
bool names(std::string_view full, std::string_view suffix);

}  // namespace l3dml::control::target
