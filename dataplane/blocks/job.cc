#include "dataplane/blocks/job.h"

#include "absl/strings/str_cat.h"
#include "dataplane/base/limits.h"
#include "dataplane/tna/bytes.h"

namespace l3dml::blocks {

using tna::to_uint;

absl::Status JobTable::check(const tna::Entry& entry) const {
  if (entry.action.empty() || entry.action == "NoAction") return absl::OkStatus();
  if (entry.action != "Ingress.job.set_job" || entry.params.size() != 4)
    return absl::InvalidArgumentError(absl::StrCat("job has no action ", entry.action));
  const uint64_t lanes = to_uint(entry.params[0]);
  if (lanes == 0 || lanes > base::kMaxLanes || lanes % base::kLanesGranularity != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("set_job: ", lanes, " lanes; a multiple of 64 up to 320 is possible"));
  const uint64_t ring = to_uint(entry.params[3]) + 1;
  if ((ring & (ring - 1)) != 0)
    return absl::InvalidArgumentError("set_job: ring_mask is a power of two minus one");
  if (to_uint(entry.params[2]) & (ring - 1))
    return absl::InvalidArgumentError("set_job: slot_base is not aligned to the ring");
  return absl::OkStatus();
}

void JobTable::insert(tna::Handle handle, const tna::Entry& entry) {
  const auto index = static_cast<uint16_t>(to_uint(entry.key[0].value));
  if (index >= jobs_.size()) jobs_.resize(index + 1u);
  indices_[handle] = index;
  modify(handle, entry);
}

void JobTable::modify(tna::Handle handle, const tna::Entry& entry) {
  Job& job = jobs_[indices_[handle]];
  job = {};
  if (entry.params.size() != 4) return;
  job.lanes = static_cast<uint16_t>(to_uint(entry.params[0]));
  job.shard_shift = static_cast<uint8_t>(to_uint(entry.params[1]));
  job.slot_base = static_cast<uint32_t>(to_uint(entry.params[2]));
  job.ring_mask = static_cast<uint32_t>(to_uint(entry.params[3]));
}

void JobTable::remove(tna::Handle handle) {
  jobs_[indices_[handle]] = {};
  indices_.erase(handle);
}

}  // namespace l3dml::blocks
