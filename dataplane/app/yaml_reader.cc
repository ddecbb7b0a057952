#include "dataplane/app/yaml_reader.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/io/units.h"

namespace l3dml::app {

void YamlReader::fail(const YAML::Node& at, const std::string& path, const std::string& text) {
  if (!status_.ok()) return;
  const YAML::Mark mark = at.Mark();
  const std::string line = mark.is_null() ? "" : absl::StrCat(mark.line + 1, ":");
  status_ =
      absl::InvalidArgumentError(absl::StrCat(file_, ":", line, " ", path, path.empty() ? "" : ": ", text));
}

YamlMap::YamlMap(YamlReader& reader, const YAML::Node& node, std::string path)
    : reader_(reader), node_(node), path_(std::move(path)) {
  if (!node_.IsMap()) {
    reader_.fail(node_, path_, "must be a map of names and values");
    return;
  }
  std::set<std::string> seen;
  for (const auto& item : node_)
    if (!seen.insert(item.first.as<std::string>("")).second)
      reader_.fail(item.first, this->path(item.first.as<std::string>("")), "is given twice");
}

YAML::Node YamlMap::get(const std::string& key) {
  known_.insert(key);
  if (!node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  return static_cast<const YAML::Node&>(node_)[key];
}

bool YamlMap::has(const std::string& key) { return get(key).IsDefined(); }

bool YamlMap::parsed(const std::string& key, const std::function<absl::Status(const std::string&)>& parse) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return false;
  if (!node.IsScalar()) {
    reader_.fail(node, path(key), "must be a single value");
    return false;
  }
  const absl::Status status = parse(node.Scalar());
  if (!status.ok()) reader_.fail(node, path(key), std::string(status.message()));
  return status.ok();
}

bool YamlMap::text(const std::string& key, std::string& value) {
  return parsed(key, [&](const std::string& text) {
    value = text;
    return absl::OkStatus();
  });
}

bool YamlMap::flag(const std::string& key, bool& value) {
  return parsed(key, [&](const std::string& text) {
    const auto result = io::parse_bool(text);
    if (result.ok()) value = *result;
    return result.status();
  });
}

bool YamlMap::size(const std::string& key, uint64_t& value) {
  return parsed(key, [&](const std::string& text) {
    const auto result = io::parse_size(text);
    if (result.ok()) value = *result;
    return result.status();
  });
}

bool YamlMap::duration(const std::string& key, int64_t& value) {
  return parsed(key, [&](const std::string& text) {
    const auto result = io::parse_duration(text);
    if (result.ok()) value = *result;
    return result.status();
  });
}

bool YamlMap::whole(const std::string& key, uint64_t& value, uint64_t low, uint64_t high) {
  return parsed(key, [&](const std::string& text) -> absl::Status {
    const auto result = io::parse_count(text);
    if (!result.ok()) return result.status();
    if (*result < low || *result > high)
      return absl::InvalidArgumentError(absl::StrCat(text, " is out of range: ", low, " to ", high));
    value = *result;
    return absl::OkStatus();
  });
}

bool YamlMap::texts(const std::string& key, std::vector<std::string>& values) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return false;
  values.clear();
  if (node.IsScalar()) {
    values.push_back(node.Scalar());
    return true;
  }
  each(key, [&](const YAML::Node& item, const std::string& item_path) {
    if (item.IsScalar())
      values.push_back(item.Scalar());
    else
      reader_.fail(item, item_path, "must be a single value");
  });
  return reader_.ok();
}

void YamlMap::each(const std::string& key,
                   const std::function<void(const YAML::Node&, const std::string&)>& item) {
  const YAML::Node node = get(key);
  if (!node.IsDefined()) return;
  if (!node.IsSequence()) return reader_.fail(node, path(key), "must be a list");
  for (size_t i = 0; i < node.size(); ++i) item(node[i], absl::StrCat(path(key), "[", i, "]"));
}

void YamlMap::fail(const std::string& key, const std::string& message) {
  const YAML::Node node = get(key);
  reader_.fail(node.IsDefined() ? node : node_, path(key), message);
}

void YamlMap::finish() {
  if (!node_.IsMap()) return;
  for (const auto& item : node_) {
    const std::string key = item.first.as<std::string>("");
    if (!known_.contains(key))
      return reader_.fail(item.first, path(key),
                          absl::StrCat("is not known here; there are ", absl::StrJoin(known_, ", ")));
  }
}

}  // namespace l3dml::app
