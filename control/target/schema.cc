#include "control/target/schema.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "control/target/batch.h"

namespace l3dml::control::target {
namespace {

using nlohmann::json;

SchemaField parse_field(const json& object) {
  SchemaField field;
  field.id = object.at("id");
  field.name = object.at("name");
  field.repeated = object.value("repeated", false);
  if (object.contains("container")) {
    field.type = SchemaField::Type::container;
    return field;
  }
  const json& type = object.at("type");
  const std::string name = type.at("type");
  if (name == "bool") {
    field.type = SchemaField::Type::boolean;
  } else if (name == "string") {
    field.type = SchemaField::Type::text;
  } else if (name == "float") {
    field.type = SchemaField::Type::real;
  } else if (name == "bytes") {
    field.width = type.at("width");
  } else {
    const size_t digits = name.find_first_of("0123456789");
    if (digits == std::string::npos) throw json::other_error::create(501, "unknown type " + name, &type);
    field.width = static_cast<unsigned>(std::stoul(name.substr(digits)));
  }
  return field;
}

std::vector<SchemaField> parse_data(const json& items) {
  std::vector<SchemaField> out;
  for (const json& item : items) {
    if (item.contains("oneof")) {
      for (const json& object : item.at("oneof")) out.push_back(parse_field(object));
    } else {
      out.push_back(parse_field(item.contains("singleton") ? item.at("singleton") : item));
    }
  }
  return out;
}

SchemaTable parse_table(const json& object) {
  SchemaTable table;
  table.id = object.at("id");
  table.name = object.at("name");
  table.type = object.at("table_type");
  table.size = object.at("size");
  for (const json& attribute : object.value("attributes", json::array())) {
    if (attribute.is_string() && attribute == "ConstTable") table.is_const = true;
  }
  for (const json& item : object.value("key", json::array())) table.key.push_back(parse_field(item));
  for (const json& item : object.value("action_specs", json::array())) {
    table.actions.push_back({item.at("id"), item.at("name"), parse_data(item.value("data", json::array()))});
  }
  table.data = parse_data(object.value("data", json::array()));
  return table;
}

// Exact name first, then a dotted suffix that fits only one.
template <typename Items>
auto pick(const Items& items, std::string_view name, absl::string_view what)
    -> absl::StatusOr<decltype(&items[0])> {
  decltype(&items[0]) found = nullptr;
  bool twice = false;
  for (const auto& item : items) {
    if (item.name == name) return &item;
    if (names(item.name, name)) {
      twice = found != nullptr;
      found = &item;
    }
  }
  const std::string text(name);
  if (twice) return absl::InvalidArgumentError(absl::StrCat(what, " '", text, "' fits more than one name"));
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no ", what, " is called '", text, "'"));
  return found;
}

template <typename Items>
auto by_id(const Items& items, uint32_t id) -> decltype(&items[0]) {
  for (const auto& item : items) {
    if (item.id == id) return &item;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<const SchemaField*> SchemaTable::key_field(std::string_view field) const {
  return pick(key, field, absl::StrCat(name, ": key field"));
}

absl::StatusOr<const SchemaAction*> SchemaTable::action(std::string_view wanted) const {
  return pick(actions, wanted, absl::StrCat(name, ": action"));
}

absl::StatusOr<const SchemaField*> SchemaTable::data_field(const SchemaAction* of,
                                                           std::string_view field) const {
  if (of != nullptr) {
    absl::StatusOr<const SchemaField*> found = pick(of->data, field, absl::StrCat(name, ": data field"));
    if (found.ok() || absl::IsInvalidArgument(found.status())) return found;
  }
  return pick(data, field, absl::StrCat(name, ": data field"));
}

const SchemaAction* SchemaTable::action(uint32_t action_id) const { return by_id(actions, action_id); }

const SchemaField* SchemaTable::key_field(uint32_t field_id) const { return by_id(key, field_id); }

const SchemaField* SchemaTable::data_field(uint32_t action_id, uint32_t field_id) const {
  if (const SchemaAction* of = action(action_id)) {
    if (const SchemaField* field = by_id(of->data, field_id)) return field;
  }
  return by_id(data, field_id);
}

absl::StatusOr<std::shared_ptr<const TargetSchema>> TargetSchema::parse(const std::string& program_json,
                                                                        const std::string& fixed_json) {
  auto schema = std::make_shared<TargetSchema>();
  try {
    for (const std::string* text : {&program_json, &fixed_json}) {
      if (text->empty()) continue;
      const json root = json::parse(*text);
      for (const json& object : root.at("tables")) {
        schema->tables_.push_back(parse_table(object));
        schema->by_name_.emplace(schema->tables_.back().name, schema->tables_.size() - 1);
        schema->by_id_.emplace(schema->tables_.back().id, schema->tables_.size() - 1);
      }
      for (const json& object : root.value("learn_filters", json::array())) {
        schema->digests_.push_back({object.at("id"), object.at("name"), parse_data(object.at("fields"))});
      }
    }
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the switch's schema cannot be read: ", error.what()));
  }
  return std::shared_ptr<const TargetSchema>(std::move(schema));
}

absl::StatusOr<const SchemaTable*> TargetSchema::table(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return &tables_[found->second];
  return pick(tables_, name, "table");
}

const SchemaTable* TargetSchema::table(uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tables_[found->second];
}

const SchemaDigest* TargetSchema::digest(uint32_t id) const { return by_id(digests_, id); }

}  // namespace l3dml::control::target
