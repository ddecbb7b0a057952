// Constants of a job at this switch: p4/job.p4, table pipe.Ingress.job.job, an array indexed by job_index.
// They say what a packet of the job must look like; a packet that does not is dropped before it reaches a
// slot.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/blocks/context.h"
#include "dataplane/tna/shape.h"
#include "dataplane/tna/twin.h"

namespace l3dml::blocks {

class JobTable final : public tna::TableTwin {
 public:
  // Sets ctx.job, or ctx.reason.
  void apply(Context& ctx) const {
    const uint16_t index = ctx.admit->job_index;
    if (index < jobs_.size() && jobs_[index].lanes != 0)
      ctx.job = &jobs_[index];
    else
      ctx.reason = base::DropReason::unknown_job;
  }

  static tna::TableShape shape() {
    return {.key = {16}, .actions = {{"Ingress.job.set_job", {16, 8, 32, 32}}}};
  }
  absl::Status check(const tna::Entry& entry) const override;
  void insert(tna::Handle handle, const tna::Entry& entry) override;
  void modify(tna::Handle handle, const tna::Entry& entry) override;
  void remove(tna::Handle handle) override;
  void set_default(const tna::Entry&) override {}

 private:
  std::vector<Job> jobs_;                               // lanes 0: none
  absl::flat_hash_map<tna::Handle, uint16_t> indices_;  // handle -> place in jobs_
};

}  // namespace l3dml::blocks
