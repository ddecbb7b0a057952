// Strict reading of a YAML file: every key must be known, every error is one line that names file, line, key
// and what would be right. Thin over yaml-cpp, whose exceptions end here.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace l3dml::lab {

// A node with the path of keys that led to it, e.g. "links[0].rate".
class Field {
 public:
  static absl::StatusOr<Field> load(const std::string& file);
  static absl::StatusOr<Field> parse(const std::string& text, const std::string& file);

  bool present() const { return node_.IsDefined() && !node_.IsNull(); }
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  const std::string& path() const { return path_; }

  // "lab.yaml:7: links[0].rate: <message>". `node_` absent: the line of the parent.
  absl::Status error(absl::string_view message) const;

  // Map: only these keys may be there; a near miss is suggested.
  absl::Status expect_keys(std::initializer_list<absl::string_view> keys) const;
  absl::Status expect_map(absl::string_view example) const;
  absl::Status expect_list(absl::string_view example) const;

  Field operator[](absl::string_view key) const;               // absent if it is not there
  std::vector<Field> items() const;                            // of a list
  std::vector<std::pair<std::string, Field>> members() const;  // of a map, in order of the file

  absl::StatusOr<std::string> text() const;
  // Absent: `target` keeps its value.
  absl::Status read(std::string* target) const;
  absl::Status read(bool* target) const;
  absl::Status read(double* target, double least, double most) const;
  absl::Status read(int64_t* target, int64_t least, int64_t most) const;

 private:
  Field(YAML::Node node, std::string file, std::string path, int line)
      : node_(std::move(node)), file_(std::move(file)), path_(std::move(path)), line_(line) {}

  YAML::Node node_;
  std::string file_, path_;
  int line_;  // from 1
};

// The known word nearest to `word`, if it is near enough to be meant.
absl::string_view nearest(absl::string_view word, std::initializer_list<absl::string_view> known);

}  // namespace l3dml::lab
