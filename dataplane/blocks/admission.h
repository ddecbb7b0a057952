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
  static Key key(const wire::Head& head, uint16_t ingress_port);

  void prefetch(const Key& key) const { admission_.table().prefetch(key); }
  // Sets ctx.admit, or ctx.reason.
  void apply(Context& ctx, const Key& key) const;

  tna::TableTwin* admission_table() { return &admission_; }

 private:
  Twin admission_;
};

}  // namespace l3dml::blocks
