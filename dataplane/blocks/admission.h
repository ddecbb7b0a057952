// Who may touch which slot: p4/admission.p4, table pipe.Ingress.admission.admission. Whatever misses is
// dropped with the reason of the best fallback entry that the controller installed (wrong_slot, wrong_source,
// ...), or unknown_job. Beside it the constants of the job, pipe.Ingress.job.job. Nothing a stranger sends
// gets further than this block.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/blocks/context.h"
#include "dataplane/tna/table_twin.h"

namespace l3dml::blocks {

class Admission {
 public:
  Admission();

  using Twin = tna::MatchTableTwin<3, Admit>;
  using Key = Twin::Table::Key;
  static Key key(const wire::Head& head, uint16_t ingress_port);

  void prefetch(const Key& key) const { admission_.table().prefetch(key); }
  // Sets ctx.admit and ctx.job, or ctx.reason.
  void apply(Context& ctx, const Key& key) const;

  tna::TableTwin* admission_table() { return &admission_; }
  tna::TableTwin* job_table() { return &job_twin_; }
  const Job* job(uint16_t index) const {
    return index < jobs_.size() && jobs_[index].lanes ? &jobs_[index] : nullptr;
  }

 private:
  class JobTwin final : public tna::TableTwin {  // an array indexed by job_index
   public:
    explicit JobTwin(Admission* owner) : owner_(owner) {}
    absl::Status check(const tna::Entry& entry) const override;
    void insert(tna::Handle handle, const tna::Entry& entry) override;
    void modify(tna::Handle handle, const tna::Entry& entry) override;
    void remove(tna::Handle handle) override;
    void set_default(const tna::Entry&) override {}

   private:
    Admission* owner_;
    absl::flat_hash_map<tna::Handle, uint16_t> indices_;
  };

  Twin admission_;
  JobTwin job_twin_{this};
  std::vector<Job> jobs_;
};

}  // namespace l3dml::blocks
