// What the controller must not forget: records by kind and key, JSON values, written in transactions. An
// interface, so that a larger store can stand behind it; SQLite is the one there is.
//
// Threads: one at a time. Failure: a write that was acknowledged survives kill -9; one that failed changed
// nothing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace l3dml::control {

class Store {
 public:
  struct Record {
    std::string kind, key, value;
  };
  virtual ~Store() = default;
  // All records of a kind, in the order in which their keys were first written.
  virtual absl::StatusOr<std::vector<Record>> read(const std::string& kind) = 0;
  // Writes and removes (value absent) together, or nothing.
  struct Write {
    std::string kind, key;
    const std::string* value = nullptr;  // null: remove
  };
  virtual absl::Status write(const std::vector<Write>& writes) = 0;
};

// "sqlite:PATH", or a path alone. Error: cannot be opened, another controller has it, or it is of a later
// version.
absl::StatusOr<std::unique_ptr<Store>> open_store(const std::string& url);

}  // namespace l3dml::control
