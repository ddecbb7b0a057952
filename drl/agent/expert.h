// Lessons for the warm start: at states along its way, an expert looks ahead for every candidate (what would
// the plan become if it were chosen now and the rule of column generation chose from there on?) and prefers
// the best. Slow, exact to its rule, and no optimum needed.
#pragma once

#include "drl/agent/learner.h"
#include "drl/agent/train.h"

namespace l3dml::drl {

// About `count` lessons from the pool's problems, in parallel; deterministic.
std::vector<Lesson> lessons(const Pool& pool, int steps, int count, uint64_t seed);

}  // namespace l3dml::drl
