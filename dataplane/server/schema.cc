#include "dataplane/server/schema.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

using nlohmann::json;

// Thrown inside this file only; parse() turns it and the JSON library's own exceptions into a Status.
struct SchemaError {
  std::string text;
};

const json& member(const json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end()) throw SchemaError{concat("member '", name, "' is missing")};
  return *found;
}

const json& list(const json& object, const char* name) {
  static const json empty = json::array();
  auto found = object.find(name);
  if (found == object.end()) return empty;
  if (!found->is_array()) throw SchemaError{concat("member '", name, "' is not a list")};
  return *found;
}

struct TypeName {
  const char* name;
  FieldType type;
  unsigned width;
};
constexpr TypeName kTypeNames[] = {
    {"bytes", FieldType::bytes, 0},  {"uint8", FieldType::uint, 8},   {"uint16", FieldType::uint, 16},
    {"uint32", FieldType::uint, 32}, {"uint64", FieldType::uint, 64}, {"int8", FieldType::sint, 8},
    {"int16", FieldType::sint, 16},  {"int32", FieldType::sint, 32},  {"int64", FieldType::sint, 64},
    {"bool", FieldType::boolean, 0}, {"string", FieldType::text, 0},  {"float", FieldType::real, 0},
};
constexpr unsigned kMaxWidth = 1u << 16;  // bits; no field of a chip comes near

Value initial_value(const FieldInfo& field, const json* given) {
  if (field.type == FieldType::container) return std::vector<Fields>{};
  if (field.repeated) {
    if (field.type == FieldType::boolean) return std::vector<bool>{};
    if (field.type == FieldType::text) return std::vector<std::string>{};
    return std::vector<uint32_t>{};
  }
  switch (field.type) {
    case FieldType::boolean:
      return given != nullptr && given->is_boolean() && given->get<bool>();
    case FieldType::real:
      return given != nullptr && given->is_number() ? given->get<float>() : 0.0f;
    case FieldType::text: {
      if (given != nullptr && given->is_string()) return given->get<std::string>();
      return field.choices.empty() ? std::string() : field.choices.front();
    }
    default: {
      uint64_t number = 0;
      if (given != nullptr && given->is_number_integer()) {
        number = given->is_number_unsigned() ? given->get<uint64_t>()
                                             : static_cast<uint64_t>(given->get<int64_t>());
      }
      return from_uint(number, field.byte_count());
    }
  }
}

Role role_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Role> kNames[] = {
      {"$ACTION_MEMBER_ID", Role::member},
      {"$SELECTOR_GROUP_ID", Role::group},
      {"$ACTION_MEMBER_STATUS", Role::member_status},
      {"$MAX_GROUP_SIZE", Role::group_size},
      {"$ENTRY_TTL", Role::ttl},
      {"$ENTRY_HIT_STATE", Role::hit_state},
      {"$COUNTER_SPEC_BYTES", Role::counter_bytes},
      {"$COUNTER_SPEC_PKTS", Role::counter_packets},
  };
  for (const auto& [known, role] : kNames) {
    if (name == known) return role;
  }
  if (name.starts_with("$METER_SPEC_")) return Role::meter;
  if (name.starts_with("$LPF_SPEC_")) return Role::lpf;
  if (name.starts_with("$WRED_SPEC_")) return Role::wred;
  return Role::none;
}

FieldInfo parse_field(const json& object);

void parse_data(const json& data, std::vector<FieldInfo>& out) {
  int group = 0;
  for (const json& item : data) {
    const bool mandatory = item.value("mandatory", false);
    const bool read_only = item.value("read_only", false);
    auto add = [&](const json& object, int choice_group) {
      FieldInfo field = parse_field(object);
      field.mandatory = mandatory && choice_group < 0;
      field.read_only = read_only;
      field.choice_group = choice_group;
      out.push_back(std::move(field));
    };
    if (item.contains("oneof")) {
      for (const json& object : list(item, "oneof")) add(object, group);
      ++group;
    } else {
      add(member(item, "singleton"), -1);
    }
  }
}

FieldInfo parse_field(const json& object) {
  FieldInfo field;
  field.id = member(object, "id").get<uint32_t>();
  field.name = member(object, "name").get<std::string>();
  field.role = role_of(field.name);
  field.repeated = object.value("repeated", false);
  field.mandatory = object.value("mandatory", false);
  field.read_only = object.value("read_only", false);
  for (const json& annotation : list(object, "annotations")) {
    if (annotation.value("name", "") == "$bfrt_field_class" &&
        annotation.value("value", "") == "register_data") {
      field.is_register = true;
    }
  }
  const json* initial = nullptr;
  if (object.contains("container")) {
    field.type = FieldType::container;
    parse_data(list(object, "container"), field.members);
  } else {
    const json& type = member(object, "type");
    const std::string name = member(type, "type").get<std::string>();
    const auto* known = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                     [&](const TypeName& candidate) { return name == candidate.name; });
    if (known == std::end(kTypeNames)) {
      throw SchemaError{concat("field '", field.name, "': unknown type '", name, "'")};
    }
    field.type = known->type;
    field.width = field.type == FieldType::bytes ? member(type, "width").get<unsigned>() : known->width;
    if (field.type == FieldType::bytes && (field.width == 0 || field.width > kMaxWidth)) {
      throw SchemaError{concat("field '", field.name, "': width ", field.width, " is not usable")};
    }
    for (const json& choice : list(type, "choices")) field.choices.push_back(choice.get<std::string>());
    auto found = type.find("default_value");
    if (found != type.end()) initial = &*found;
  }
  field.has_default = initial != nullptr;
  field.initial = initial_value(field, initial);
  return field;
}

tna::MatchKind parse_match(const std::string& name) {
  if (name == "Exact" || name == "ATCAM") return tna::MatchKind::exact;
  if (name == "Ternary") return tna::MatchKind::ternary;
  if (name == "LPM" || name == "LongestPrefixMatch") return tna::MatchKind::lpm;
  if (name == "Range") return tna::MatchKind::range;
  if (name == "Optional") return tna::MatchKind::optional;
  throw SchemaError{concat("unknown match_type '", name, "'")};
}

ActionInfo parse_action(const json& object) {
  ActionInfo action;
  action.id = member(object, "id").get<uint32_t>();
  action.name = member(object, "name").get<std::string>();
  const std::string scope = object.value("action_scope", "TableAndDefault");
  action.in_entries = scope != "DefaultOnly";
  action.as_default = scope != "TableOnly";
  for (const json& annotation : list(object, "annotations")) {
    const std::string name = annotation.value("name", "");
    if (name == "@defaultonly" || name == "defaultonly") action.in_entries = false;
    if (name == "@tableonly" || name == "tableonly") action.as_default = false;
  }
  for (const json& field : list(object, "data")) action.data.push_back(parse_field(field));
  return action;
}

TableKind kind_of(const TableInfo& table) {
  if (table.type.starts_with("MatchAction_")) return TableKind::match;
  if (table.type == "Action") return TableKind::action;
  if (table.type == "Selector") return TableKind::selector;
  if (table.type == "SelectorGetMember") return TableKind::group_member;
  if (table.type == "Register") return TableKind::register_array;
  if (table.type == "Counter") return TableKind::counter;
  if (table.type == "Meter" || table.type == "Wred" || table.type == "Lpf") return TableKind::meter;
  if (table.type == "ParserValueSet") return TableKind::value_set;
  if (table.type == "PortMetadata") return TableKind::port_metadata;
  return table.key.empty() ? TableKind::single : TableKind::keyed;
}

TableInfo parse_table(const json& object) {
  TableInfo table;
  table.id = member(object, "id").get<uint32_t>();
  table.type = member(object, "table_type").get<std::string>();
  const json& size = member(object, "size");
  const uint64_t count = size.get<uint64_t>();
  if (count > UINT32_MAX) throw SchemaError{"size is beyond 32 bits"};
  table.size = static_cast<uint32_t>(count);
  table.has_const_default = object.value("has_const_default_action", false);
  for (const json& item : list(object, "key")) {
    FieldInfo field = parse_field(item);
    if (field.id == kMatchPriorityId) {
      table.has_priority = true;
      continue;
    }
    if (field.repeated || field.type == FieldType::container) {
      throw SchemaError{concat("key field '", field.name, "' is a list")};
    }
    field.match = parse_match(item.value("match_type", "Exact"));
    if (field.match != tna::MatchKind::exact && field.width == 0) {
      throw SchemaError{concat("key field '", field.name, "' has no width to match on")};
    }
    table.key.push_back(std::move(field));
  }
  for (const json& action : list(object, "action_specs")) table.actions.push_back(parse_action(action));
  parse_data(list(object, "data"), table.data);
  for (const json& name : list(object, "supported_operations")) table.operations.push_back(name);
  for (const json& item : list(object, "attributes")) {
    table.attributes.push_back(item.is_string() ? item.get<std::string>() : item.value("name", ""));
  }
  for (const json& id : list(object, "depends_on")) table.depends_on.push_back(id.get<uint32_t>());
  table.is_const = table.has_attribute("ConstTable");
  table.kind = kind_of(table);
  const bool indexed = table.kind == TableKind::register_array || table.kind == TableKind::counter ||
                       table.kind == TableKind::meter;
  if (indexed && (table.key.size() != 1 || table.key[0].width == 0)) {
    throw SchemaError{concat("a table of type ", table.type, " needs one index as its key")};
  }
  return table;
}

}  // namespace

const ActionInfo* TableInfo::action(uint32_t action_id) const {
  for (const ActionInfo& candidate : actions) {
    if (candidate.id == action_id) return &candidate;
  }
  return nullptr;
}

const FieldInfo* TableInfo::data_field(uint32_t action_id, uint32_t field_id) const {
  if (const ActionInfo* info = action(action_id)) {
    for (const FieldInfo& field : info->data) {
      if (field.id == field_id) return &field;
    }
  }
  for (const FieldInfo& field : data) {
    if (field.id == field_id) return &field;
  }
  return nullptr;
}

const FieldInfo* TableInfo::data_with(Role role) const {
  for (const FieldInfo& field : data) {
    if (field.role == role) return &field;
  }
  return nullptr;
}

bool TableInfo::has_operation(std::string_view operation) const {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

bool TableInfo::has_attribute(std::string_view attribute) const {
  return std::find(attributes.begin(), attributes.end(), attribute) != attributes.end();
}

absl::StatusOr<std::shared_ptr<const Schema>> Schema::parse(std::string_view json_text) {
  auto schema = std::make_shared<Schema>();
  std::string where = "top level";
  try {
    const json root = json::parse(json_text);
    if (!root.is_object() || !root.contains("tables")) throw SchemaError{"there is no list 'tables'"};
    for (const json& object : list(root, "tables")) {
      where = concat("table ", schema->tables_.size());
      const std::string name = member(object, "name").get<std::string>();
      where = concat("table '", name, "'");
      TableInfo table = parse_table(object);
      table.name = name;
      if (!schema->by_id_.emplace(table.id, schema->tables_.size()).second) {
        throw SchemaError{concat("id ", table.id, " is used twice")};
      }
      if (!schema->by_name_.emplace(name, schema->tables_.size()).second) {
        throw SchemaError{"its name is used twice"};
      }
      schema->tables_.push_back(std::move(table));
    }
    for (const json& object : list(root, "learn_filters")) {
      LearnFilterInfo filter;
      filter.name = member(object, "name").get<std::string>();
      where = concat("learn filter '", filter.name, "'");
      filter.id = member(object, "id").get<uint32_t>();
      for (const json& field : list(object, "fields")) filter.fields.push_back(parse_field(field));
      schema->learn_filters_.push_back(std::move(filter));
    }
  } catch (const SchemaError& error) {
    return absl::InvalidArgumentError(concat("bf-rt.json, ", where, ": ", error.text));
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(concat("bf-rt.json, ", where, ": ", error.what()));
  }
  return std::shared_ptr<const Schema>(std::move(schema));
}

const TableInfo* Schema::table(uint32_t id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tables_[found->second];
}

const TableInfo* Schema::table(std::string_view name) const {
  auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &tables_[found->second];
}

const LearnFilterInfo* Schema::learn_filter(std::string_view name) const {
  for (const LearnFilterInfo& filter : learn_filters_) {
    if (filter.name == name) return &filter;
  }
  return nullptr;
}

}  // namespace l3dml::server
