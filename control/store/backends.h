// The stores behind open_store(); private to this folder.
#pragma once

#include "control/store/store.h"

namespace l3dml::control {

absl::StatusOr<std::unique_ptr<Store>> open_sqlite(const std::string& path);
// "//HOST:PORT[,HOST:PORT...][/PREFIX]".
absl::StatusOr<std::unique_ptr<Store>> open_etcd(const std::string& rest, const StoreOptions& options);

// What everybody is told who comes second.
absl::Status in_use(const std::string& what);

}  // namespace l3dml::control
