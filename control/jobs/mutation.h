// Deliberate faults, for the simulator's mutation check (tools/sim/mutations.h lists them). The twin of
// dataplane/base/mutation.h, which control may not include.
#pragma once

#ifndef L3DML_MUTATE
#define L3DML_MUTATE(name) false
#endif
