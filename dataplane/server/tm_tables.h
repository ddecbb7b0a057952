// The traffic manager: tf1.tm.*. A port of this switch has one queue, that of its emulated link, or one made
// when it is shaped; it is queue 0 of the port. Shaping by bits and the counters of that queue are live;
// buffers, priorities and the other queues are kept and read back. See Table for threads and failure.
#pragma once

#include "dataplane/server/table.h"

namespace l3dml::server {

// Null when the table is not one of them.
std::unique_ptr<Table> make_tm_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
