// Reading a YAML file strictly: every key must be known and of the right kind, and each complaint is one line
//   FILE:LINE: devices[0].ports[1].mtu: "abc" is not a whole number
// The first complaint wins; what is read after it is ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "absl/status/status.h"

namespace l3dml::app {

class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void fail(const YAML::Node& at, const std::string& path, const std::string& text);

 private:
  std::string file_;
  absl::Status status_;
};

// One map of the file. Keys that nobody asked for are complained about by finish().
class YamlMap {
 public:
  YamlMap(YamlReader& reader, const YAML::Node& node, std::string path);

  bool has(const std::string& key);
  YAML::Node get(const std::string& key);  // undefined if absent
  // Each leaves `value` alone if the key is absent. True if it was there and fine.
  bool text(const std::string& key, std::string& value);
  bool flag(const std::string& key, bool& value);
  bool size(const std::string& key, uint64_t& value);
  bool duration(const std::string& key, int64_t& value);
  template <typename Int>
  bool count(const std::string& key, Int& value, uint64_t low, uint64_t high) {
    uint64_t wide = 0;
    if (!whole(key, wide, low, high)) return false;
    value = static_cast<Int>(wide);
    return true;
  }
  bool texts(const std::string& key, std::vector<std::string>& values);  // a list of them, or one
  // Calls for each item of a list, with its path.
  void each(const std::string& key, const std::function<void(const YAML::Node&, const std::string&)>& item);
  // The scalar as text with a parser of one's own; its complaint gets place and path.
  bool parsed(const std::string& key, const std::function<absl::Status(const std::string&)>& parse);

  void fail(const std::string& key, const std::string& message);
  void finish();

  YamlReader& reader() { return reader_; }
  const YAML::Node& node() const { return node_; }
  const std::string& path() const { return path_; }
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  bool whole(const std::string& key, uint64_t& value, uint64_t low, uint64_t high);

  YamlReader& reader_;
  YAML::Node node_;
  std::string path_;
  std::set<std::string> known_;
};

}  // namespace l3dml::app
