// $mirror.cfg, the packet generator's tables and tf1.dev.device_configuration: what is set is checked as the
// chip's driver checks it and kept; what the device says of itself is filled in. See Table for threads and
// failure.
#pragma once

#include "dataplane/server/table.h"

namespace l3dml::server {

// Null when the table is not one of them.
std::unique_ptr<Table> make_device_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
