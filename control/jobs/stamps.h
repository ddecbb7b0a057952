// Which number an epoch starts from (DESIGN section 5, "Numbers"): a multiple of ring x shards, never 0,
// newer than every stamp in the job's ranges by less than 2^30. Serial order is not transitive, so where no
// such number exists the stamps of the ranges that stand in the way are to be overwritten with first_number -
// 1 before it is used. Pure functions; one range = the ring entries of one job on one switch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace l3dml::control {

// The oldest and newest stamp that any entry of a range may hold.
struct Stamps {
  bool known = true;  // false: anything may stand there
  uint32_t oldest = 0;
  uint32_t newest = 0;
};

struct FirstNumber {
  uint32_t number = 0;
  std::vector<bool> overwrite;  // per range: write stamp = number - 1 over it
};

// `step` = ring x shards, a power of two. `after`: the job's newest number so far; the result is newer.
FirstNumber choose_first_number(std::span<const Stamps> ranges, uint32_t step, uint32_t after);

// What a range may hold after an epoch that began at `first` over `before`. `lowest`: every number from first
// up to and including it was held by somebody (so that every switch of the tree has seen it), first - 1 if
// there is none; `newest`: no number newer than it was ever sent. `entries` = ring x shards.
Stamps after_epoch(const Stamps& before, uint32_t first, uint32_t lowest, uint32_t newest, uint32_t entries);

}  // namespace l3dml::control
