// Where tests have the controller killed: L3DML_DIE_AT=STEP[:N] ends the process as kill -9 would, the Nth
// time (from 1) that it comes to STEP. The steps are those at which something has been stored, said or
// written and the next thing has not; e2e tests of tools/member go through all of them. Without the variable
// nothing happens.
#pragma once

#include <string_view>

namespace l3dml::control {

void die_here_if_told(std::string_view step);

}  // namespace l3dml::control
