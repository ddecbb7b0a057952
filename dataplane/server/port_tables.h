// $PORT and what goes with it: $PORT_STAT, $PORT_HDL_INFO, $PORT_STR_INFO, $PORT_FP_IDX_INFO. A port exists
// once it was added. Link state and counters come from the device's ports; without a device, an enabled port
// is up and counts nothing. See Table for threads and failure.
#pragma once

#include "dataplane/server/table.h"

namespace l3dml::server {

// Null when the table is not one of them.
std::unique_ptr<Table> make_port_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
