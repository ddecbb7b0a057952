#include "tools/lab/leftovers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <signal.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tools/lab/process.h"

namespace l3dml::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFolder = "/run/l3dml-lab";

// Ends whatever still lives in the namespace, then removes it.
void remove_namespace(const std::string& name) {
  if (auto pids = run({"ip", "netns", "pids", name}); pids.ok())
    for (const auto word : absl::StrSplit(*pids, '\n', absl::SkipEmpty())) {
      int pid = 0;
      if (absl::SimpleAtoi(word, &pid) && pid > 1 && pid != getpid()) kill(pid, SIGKILL);
    }
  (void)run({"ip", "netns", "delete", name});
}

bool same_process_lives(const json& process) {
  const auto pid = process.value("pid", 0);
  return pid > 1 && start_time(pid) != 0 && start_time(pid) == process.value("started", uint64_t{0});
}

json read_json(const fs::path& file) {
  std::ifstream in(file);
  json value = json::parse(in, nullptr, /*allow_exceptions=*/false);
  return value.is_object() ? value : json::object();
}

// False: the lab that wrote the record lives.
bool remove_dead(const fs::path& file) {
  const json record = read_json(file);
  if (record.contains("lab") && same_process_lives(record["lab"])) return false;
  if (record.contains("processes"))
    for (const json& process : record["processes"])
      if (same_process_lives(process)) kill(-process.value("pid", 0), SIGKILL);
  if (record.contains("namespaces"))
    for (const json& name : record["namespaces"])
      if (name.is_string()) remove_namespace(name.get<std::string>());
  std::error_code ignored;
  fs::remove(file, ignored);
  return true;
}

json identity(pid_t pid) { return {{"pid", pid}, {"started", start_time(pid)}}; }

}  // namespace

absl::StatusOr<Record> Record::open(const std::string& name) {
  std::error_code error;
  fs::create_directories(kFolder, error);
  if (error)
    return absl::PermissionDeniedError(
        absl::StrCat("cannot create ", kFolder, ": the lab makes network namespaces, run it as root"));
  const std::string file = absl::StrCat(kFolder, "/", name, ".json");
  if (fs::exists(file) && !remove_dead(file))
    return absl::AlreadyExistsError(absl::StrCat("lab ", name, " runs already (process ",
                                                 read_json(file)["lab"].value("pid", 0),
                                                 "): end it, or give this one another name"));
  Record record(file, name);
  if (absl::Status s = record.save(); !s.ok()) return s;
  return record;
}

Record::Record(Record&& other) noexcept
    : file_(std::exchange(other.file_, {})),
      name_(std::move(other.name_)),
      namespaces_(std::move(other.namespaces_)),
      processes_(std::move(other.processes_)) {}

Record::~Record() {
  if (file_.empty()) return;
  for (const std::string& name : namespaces_) remove_namespace(name);
  std::error_code ignored;
  fs::remove(file_, ignored);
}

absl::Status Record::save() const {
  json record{{"lab", identity(getpid())},
              {"name", name_},
              {"namespaces", namespaces_},
              {"processes", json::array()}};
  for (const pid_t pid : processes_) record["processes"].push_back(identity(pid));
  const std::string next = file_ + ".new";
  {
    std::ofstream out(next);
    out << record.dump(1) << "\n";
    if (!out.flush()) return absl::InternalError(absl::StrCat("cannot write ", next));
  }
  std::error_code error;
  fs::rename(next, file_, error);  // whole or not at all, also if we are killed here
  return error ? absl::InternalError(absl::StrCat("cannot write ", file_)) : absl::OkStatus();
}

absl::Status Record::add_namespace(const std::string& name) {
  namespaces_.push_back(name);
  return save();
}

absl::Status Record::add_process(pid_t pid) {
  processes_.push_back(pid);
  return save();
}

absl::StatusOr<std::vector<std::string>> clean_leftovers() {
  std::vector<std::string> removed;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(kFolder, error))
    if (item.path().extension() == ".json" && remove_dead(item.path()))
      removed.push_back(item.path().stem().string());
  return removed;
}

}  // namespace l3dml::lab
