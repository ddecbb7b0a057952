#include "dataplane/blocks/generated.h"

#include "absl/strings/str_cat.h"
#include "dataplane/base/limits.h"
#include "dataplane/tna/bytes.h"

namespace l3dml::blocks {
namespace {

using tna::to_uint;

constexpr unsigned kUdpDstPort = 5;  // parameter

}  // namespace

absl::Status GeneratedTable::check(const tna::Entry& entry) const {
  if (entry.action.empty() || entry.action == "NoAction") return absl::OkStatus();
  if (entry.action != "Ingress.admission.speak_for" || entry.params.size() != 6)
    return absl::InvalidArgumentError(absl::StrCat("generated has no action ", entry.action));
  const uint64_t port = to_uint(entry.params[kUdpDstPort]);
  if (port < base::kUdpPort || port >= base::kUdpPort + base::kMaxShards)
    return absl::InvalidArgumentError(absl::StrCat("speak_for: UDP port ", port, " is no shard's"));
  return absl::OkStatus();
}

void GeneratedTable::insert(tna::Handle handle, const tna::Entry& entry) {
  const auto number = static_cast<uint16_t>(to_uint(entry.key[0].value));
  if (number >= rows_.size()) rows_.resize(number + 1u);
  numbers_[handle] = number;
  modify(handle, entry);
}

void GeneratedTable::modify(tna::Handle handle, const tna::Entry& entry) {
  Generated& row = rows_[numbers_[handle]];
  row = {};
  if (entry.params.size() != 6) return;
  row.known = true;
  row.neighbor = static_cast<uint16_t>(to_uint(entry.params[0]));
  row.port = static_cast<uint16_t>(to_uint(entry.params[1]));
  row.job = static_cast<uint16_t>(to_uint(entry.params[2]));
  row.epoch = static_cast<uint8_t>(to_uint(entry.params[3]));
  row.flags = static_cast<uint8_t>(to_uint(entry.params[4]));
  row.shard = static_cast<uint8_t>(to_uint(entry.params[kUdpDstPort]) - base::kUdpPort);
}

void GeneratedTable::remove(tna::Handle handle) {
  rows_[numbers_[handle]] = {};
  numbers_.erase(handle);
}

}  // namespace l3dml::blocks
