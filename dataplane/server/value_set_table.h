// Parser value sets: keys without data, so an entry is there or not and cannot be modified. See Table for
// threads and failure.
#pragma once

#include "dataplane/server/entry_table.h"

namespace l3dml::server {

class ValueSetTable final : public EntryTable {
 public:
  using EntryTable::EntryTable;
  absl::Status modify(WriteContext&, const Key&, const Data&) override { return unsupported("modify"); }
};

}  // namespace l3dml::server
