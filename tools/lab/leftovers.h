// What a lab has made that outlives a process: namespaces, and the processes of a lab that was killed.
// Written down before it is made, so that the next run, or `l3dml-lab clean`, can remove what a crash left.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace l3dml::lab {

class Record {
 public:
  // Opens the record of lab `name` for this process, after removing what a dead run of that name left.
  // Error: a lab of this name runs.
  static absl::StatusOr<Record> open(const std::string& name);
  Record(Record&&) noexcept;
  Record& operator=(Record&&) = delete;
  ~Record();  // removes everything recorded, then the record

  absl::Status add_namespace(const std::string& name);
  absl::Status add_process(pid_t pid);

 private:
  Record(std::string file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  absl::Status save() const;

  std::string file_, name_;
  std::vector<std::string> namespaces_;
  std::vector<pid_t> processes_;
};

// Removes what dead labs left; returns their names. Labs that run are left alone.
absl::StatusOr<std::vector<std::string>> clean_leftovers();

}  // namespace l3dml::lab
