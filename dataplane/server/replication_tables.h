// The packet replication engine's tables: $pre.mgid, node, ecmp, lag, prune, port. They refer to each other
// by id; a change of any of them re-publishes the groups it touches. See Table for threads and failure.
#pragma once

#include "dataplane/server/table.h"

namespace l3dml::server {

// Null when the table is not one of them.
std::unique_ptr<Table> make_replication_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
