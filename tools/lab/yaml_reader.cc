#include "tools/lab/yaml_reader.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace l3dml::lab {
namespace {

size_t edit_distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

absl::Status yaml_error(const std::string& file, const YAML::Exception& e) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", e.mark.line + 1, ": not YAML: ", e.msg));
}

}  // namespace

absl::string_view nearest(absl::string_view word, std::initializer_list<absl::string_view> known) {
  absl::string_view best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const absl::string_view candidate : known)
    if (const size_t d = edit_distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  return best;
}

absl::StatusOr<Field> Field::parse(const std::string& text, const std::string& file) {
  try {
    YAML::Node node = YAML::Load(text);
    // yaml-cpp lets a key stand twice and keeps both; a person who wrote it meant one of them.
    return Field(std::move(node), file, "", 1);
  } catch (const YAML::Exception& e) {
    return yaml_error(file, e);
  }
}

absl::StatusOr<Field> Field::load(const std::string& file) {
  try {
    return Field(YAML::LoadFile(file), file, "", 1);
  } catch (const YAML::BadFile&) {
    return absl::NotFoundError(
        absl::StrCat(file, ": cannot be read: name an existing lab file, or one of `l3dml-lab list`"));
  } catch (const YAML::Exception& e) {
    return yaml_error(file, e);
  }
}

absl::Status Field::error(absl::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat(file_, ":", line_, ": ", path_, path_.empty() ? "" : ": ", message));
}

absl::Status Field::expect_map(absl::string_view example) const {
  if (node_.IsMap()) return absl::OkStatus();
  return error(absl::StrCat(present() ? "must be a map" : "is missing", ", for example ", example));
}

absl::Status Field::expect_list(absl::string_view example) const {
  if (node_.IsSequence()) return absl::OkStatus();
  return error(absl::StrCat(present() ? "must be a list" : "is missing", ", for example ", example));
}

absl::Status Field::expect_keys(std::initializer_list<absl::string_view> keys) const {
  std::vector<std::string> seen;
  for (const auto& [name, value] : members()) {
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      const absl::string_view near = nearest(name, keys);
      return value.error(near.empty()
                             ? absl::StrCat("is not known here; there are ", absl::StrJoin(keys, ", "))
                             : absl::StrCat("is not known here; did you mean ", near, "?"));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return value.error("is there twice");
    seen.push_back(name);
  }
  return absl::OkStatus();
}

Field Field::operator[](absl::string_view key) const {
  const std::string path = absl::StrCat(path_, path_.empty() ? "" : ".", key);
  if (!node_.IsMap()) return Field(YAML::Node(YAML::NodeType::Undefined), file_, path, line_);
  for (const auto& member : node_)  // errors speak of the line of the key
    if (member.first.IsScalar() && member.first.Scalar() == key)
      return Field(member.second, file_, path, member.first.Mark().line + 1);
  return Field(YAML::Node(YAML::NodeType::Undefined), file_, path, line_);
}

std::vector<Field> Field::items() const {
  std::vector<Field> result;
  if (node_.IsSequence())
    for (const YAML::Node& child : node_)
      result.push_back(
          Field(child, file_, absl::StrCat(path_, "[", result.size(), "]"), child.Mark().line + 1));
  return result;
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  std::vector<std::pair<std::string, Field>> result;
  if (node_.IsMap())
    for (const auto& member : node_) {
      std::string name = member.first.IsScalar() ? member.first.Scalar() : "?";
      const std::string path = absl::StrCat(path_, path_.empty() ? "" : ".", name);
      result.emplace_back(std::move(name), Field(member.second, file_, path, member.first.Mark().line + 1));
    }
  return result;
}

absl::StatusOr<std::string> Field::text() const {
  if (!node_.IsScalar()) return error(present() ? "must be a single value" : "is missing");
  return node_.Scalar();
}

absl::Status Field::read(std::string* target) const {
  if (!present()) return absl::OkStatus();
  auto value = text();
  if (value.ok()) *target = *std::move(value);
  return value.status();
}

absl::Status Field::read(bool* target) const {
  if (!present()) return absl::OkStatus();
  auto value = text();
  if (!value.ok()) return value.status();
  if (*value != "true" && *value != "false")
    return error(absl::StrCat("\"", *value, "\" must be true or false"));
  *target = *value == "true";
  return absl::OkStatus();
}

absl::Status Field::read(double* target, double least, double most) const {
  if (!present()) return absl::OkStatus();
  auto value = text();
  if (!value.ok()) return value.status();
  double number = 0;
  if (!absl::SimpleAtod(*value, &number) || !(number >= least && number <= most))
    return error(absl::StrCat("\"", *value, "\" must be a number from ", least, " to ", most));
  *target = number;
  return absl::OkStatus();
}

absl::Status Field::read(int64_t* target, int64_t least, int64_t most) const {
  if (!present()) return absl::OkStatus();
  auto value = text();
  if (!value.ok()) return value.status();
  int64_t number = 0;
  if (!absl::SimpleAtoi(*value, &number) || number < least || number > most)
    return error(absl::StrCat("\"", *value, "\" must be a whole number from ", least, " to ", most));
  *target = number;
  return absl::OkStatus();
}

}  // namespace l3dml::lab
