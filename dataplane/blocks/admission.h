// Who may touch which slot: p4/admission.p4, table pipe.Ingress.admission.admission. Whatever misses is
// dropped with the reason of the best fallback entry that the controller installed (wrong_slot, wrong_source,
// ...), or unknown_job. Nothing a stranger sends gets further than this block.
#pragma once

#include "dataplane/blocks/context.h"
#include "dataplane/tna/table_twin.h"

namespace l3dml::blocks {

class Admission {
 public:
  Admission();

  using Twin = tna::MatchTableTwin<3, Admit>;
  using Key = Twin::Table::Key;
  using Row = Twin::Table::Row;
  static Key key(const wire::Head& head, uint16_t ingress_port);

  // Sets ctx.admit, or ctx.reason; counts for `pipe`. Returns the entry that decided, null if none did.
  const Row* apply(Context& ctx, unsigned pipe) const;
  // True if no other entry can decide about a packet that `row` admits and that carries any of the slots
  // base .. base + mask: then the answer holds for the whole flow (pipeline/flow_cache.h).
  bool holds_for_slots(const Row& row, uint32_t base, uint32_t mask) const;

  // Calls job(number) for the job of every entry. False: some entry, or the default, may decide about others
  // in another way than refusing them as unknown.
  template <typename Function>
  bool for_each_job(Function job) const {
    bool all = !admission_.default_action().admitted &&
               admission_.default_action().reject == base::DropReason::unknown_job;
    admission_.table().for_each([&](const Row& row) {
      all &= row.mask.words[0] >> 48 == 0xffff;
      job(static_cast<uint16_t>(row.key.words[0] >> 48));
    });
    return all;
  }

  tna::TableTwin* admission_table() { return &admission_; }
  tna::TableShape shape() const { return admission_.shape(); }

 private:
  Twin admission_;
};

}  // namespace l3dml::blocks
