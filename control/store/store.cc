#include "control/store/store.h"

#include "absl/strings/str_cat.h"
#include "control/store/backends.h"

namespace l3dml::control {

absl::Status in_use(const std::string& what) {
  return absl::AlreadyExistsError(absl::StrCat(what, ": another controller uses this store"));
}

absl::StatusOr<std::unique_ptr<Store>> open_store(const std::string& url, const StoreOptions& options) {
  const size_t colon = url.find(':');
  const std::string scheme = colon == std::string::npos ? "sqlite" : url.substr(0, colon);
  const std::string rest = colon == std::string::npos ? url : url.substr(colon + 1);
  if (scheme == "sqlite") return open_sqlite(rest);
  if (scheme == "etcd") return open_etcd(rest, options);
  return absl::InvalidArgumentError(
      absl::StrCat("no store of kind \"", scheme, "\": write sqlite:PATH or etcd://HOST:PORT"));
}

}  // namespace l3dml::control
