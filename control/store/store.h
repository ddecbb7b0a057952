// What the controller must not forget: records by kind and key, JSON values, written in transactions. SQLite
// on one machine, etcd where that is outgrown or a stand-by on another machine shall take over.
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
  // False: it may be another controller's by now; whoever sees that must stop controlling. Any thread.
  virtual bool held() const { return true; }
};

struct StoreOptions {
  double lease_s = 5;  // of etcd's lock: a controller that died is succeeded after so long
  // PEM texts towards etcd; all or none.
  std::string certificate, private_key, authority;
};

// "sqlite:PATH" or a path alone; "etcd://HOST:PORT[,HOST:PORT...][/PREFIX]". AlreadyExists: another
// controller has it; FailedPrecondition: it is of a later version; else: cannot be opened.
absl::StatusOr<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options = {});

}  // namespace l3dml::control
