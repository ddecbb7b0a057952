// Deliberate faults, for the simulator's mutation check (tools/sim/mutations.h lists them): where a rule of
// the protocol is decided, L3DML_MUTATE(name) asks whether the fault `name` is the one chosen for this run.
// It is the constant `false` unless the simulator's second build of these sources defines it otherwise, so
// products carry no trace of it.
#pragma once

#ifndef L3DML_MUTATE
#define L3DML_MUTATE(name) false
#define L3DML_HAS_MUTATIONS false
#else
#define L3DML_HAS_MUTATIONS true  // then every packet takes the way on which the faults are
#endif
