// Rules inside the specifications of meters, low-pass filters and WRED, wherever they lie: in an indexed
// table or in the entries of a match table. Pure.
#pragma once

#include <string>

#include "dataplane/server/schema.h"
#include "dataplane/server/value.h"

namespace l3dml::server {

// What is wrong with the specification among the fields, or an empty text.
std::string spec_mistake(const std::vector<FieldInfo>& infos, const Fields& fields);

}  // namespace l3dml::server
