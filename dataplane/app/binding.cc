#include "dataplane/app/binding.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/pipeline/description.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

absl::Status mismatch(const std::string& name, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("bf-rt.json does not fit the pipeline: ", name, ": ", what));
}

std::vector<unsigned> widths(const json& fields) {
  std::vector<unsigned> result;
  for (const json& field : fields)
    if (!field.at("name").get<std::string>().starts_with("$"))
      result.push_back(field.at("type").at("width").get<unsigned>());
  return result;
}

std::string text(const std::vector<unsigned>& bits) {
  return absl::StrCat("(", absl::StrJoin(bits, ", "), ")");
}

bool has_attribute(const json& table, const char* attribute) {
  const json& all = table.at("attributes");
  return std::find(all.begin(), all.end(), attribute) != all.end();
}

absl::Status check_table(const json& table, const tna::TableShape& shape) {
  const std::string name = table.at("name");
  const std::vector<unsigned> key = widths(table.at("key"));
  if (key != shape.key)
    return mismatch(name,
                    absl::StrCat("key fields of ", text(key), " bits, the pipeline has ", text(shape.key)));
  std::set<std::string> known;
  for (const json& action : table.at("action_specs")) {
    if (action.value("action_scope", "") == "DefaultOnly") continue;
    const std::string action_name = action.at("name");
    const auto ours = shape.actions.find(action_name);
    if (ours == shape.actions.end())
      return mismatch(name, absl::StrCat("the pipeline has no action ", action_name));
    const std::vector<unsigned> parameters = widths(action.at("data"));
    if (parameters != ours->second)
      return mismatch(name, absl::StrCat(action_name, " has parameters of ", text(parameters),
                                         " bits, the pipeline's of ", text(ours->second)));
    known.insert(action_name);
  }
  for (const auto& [action, parameters] : shape.actions)
    if (!known.contains(action))
      return mismatch(name, absl::StrCat("it lacks the pipeline's action ", action));
  return absl::OkStatus();
}

// "pipe.Ingress.aggregator.lanes" of "pipe.Ingress.aggregator.lanes07"; empty without digits.
std::string stem(const std::string& name) {
  size_t end = name.size();
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  return end == name.size() ? "" : name.substr(0, end);
}

// One more register of a family, for lanes beyond those of a chip's pass.
json one_more(json table, const std::string& name, std::set<uint32_t>* ids) {
  constexpr size_t kPipe = 5;  // "pipe."
  const std::string old = table.at("name").get<std::string>().substr(kPipe), fresh = name.substr(kPipe);
  auto id = table.at("id").get<uint32_t>();
  while (!ids->insert(id).second) id = (id & 0xff000000) | ((id + 1) & 0x00ffffff);
  table["name"] = name;
  table["id"] = id;
  for (json& data : table.at("data")) {
    const auto field = data.at("singleton").at("name").get<std::string>();
    if (field.starts_with(old)) data["singleton"]["name"] = fresh + field.substr(old.size());
  }
  return table;
}

absl::StatusOr<std::string> bind(json program, pipeline::Device& device) {
  const pipeline::Description ours = pipeline::describe(device);
  json& tables = program.at("tables");
  std::set<std::string> names;
  std::set<uint32_t> ids;
  for (json& table : tables) {
    const std::string name = table.at("name"), type = table.at("table_type");
    names.insert(name);
    ids.insert(table.at("id").get<uint32_t>());
    if (pipeline::is_chip_only(name) || has_attribute(table, "ConstTable")) continue;
    if (type == "Register") {
      const tna::RegisterTwin* twin = device.register_array(name);
      if (twin == nullptr) return mismatch(name, "the pipeline has no such register");
      if (table.at("data").size() > 2) return mismatch(name, "a register's cell has one or two words");
      table["size"] = twin->size();
    } else if (type == "Counter") {
      const tna::CounterTwin* twin = device.counter(name);
      if (twin == nullptr) return mismatch(name, "the pipeline has no such counter");
      table["size"] = twin->size();
    } else {
      const auto shape = ours.tables.find(name);
      if (shape == ours.tables.end() || device.table(name) == nullptr)
        return mismatch(name, "the pipeline has no such table");
      if (absl::Status status = check_table(table, shape->second); !status.ok()) return status;
    }
  }
  const auto lacking = [&](const std::string& name) {
    return names.contains(name) ? absl::OkStatus()
                                : mismatch(name, "the pipeline has it, the description does not");
  };
  for (const auto& [name, shape] : ours.tables)
    if (absl::Status status = lacking(name); !status.ok()) return status;
  for (const std::string& name : ours.counters)
    if (absl::Status status = lacking(name); !status.ok()) return status;
  const json described = tables;
  for (const std::string& name : ours.registers) {
    if (names.contains(name)) continue;
    const std::string family = stem(name);
    const auto like = std::find_if(described.begin(), described.end(), [&](const json& table) {
      return !family.empty() && stem(table.at("name").get<std::string>()) == family;
    });
    if (like == described.end()) return lacking(name);
    tables.push_back(one_more(*like, name, &ids));
    tables.back()["size"] = device.register_array(name)->size();
  }
  return program.dump();
}

}  // namespace

absl::StatusOr<std::string> bind_program(const std::string& text, pipeline::Device& device) {
  try {
    return bind(json::parse(text), device);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("bf-rt.json cannot be read: ", error.what()));
  }
}

}  // namespace l3dml::app
