#include "control/jobs/stamps.h"

#include "control/jobs/mutation.h"
namespace l3dml::control {
namespace {

constexpr uint32_t kReach = 1u << 30;  // how far a first number may lie beyond the oldest stamp

int32_t distance(uint32_t to, uint32_t from) { return static_cast<int32_t>(to - from); }

bool usable(const Stamps& range, uint32_t number) {
  return range.known && distance(number, range.newest) > 0 && number - range.newest < kReach &&
         distance(number, range.oldest) > 0 && number - range.oldest < kReach;
}

}  // namespace

FirstNumber choose_first_number(std::span<const Stamps> ranges, uint32_t step, uint32_t after) {
  // The job's own newest number is the anchor: ranges that are far from it are overwritten, not chased. Only
  // a range that is a little ahead of it (an attempt that was given up, another job's remains) moves the
  // choice.
  uint32_t newest = after;
  for (const Stamps& range : ranges) {
    if (range.known && distance(range.newest, newest) > 0 && range.newest - after < kReach / 2)
      newest = range.newest;
  }
  FirstNumber result;
  result.number = (newest / step + (L3DML_MUTATE(first_number_not_newer) ? 0 : 1)) * step;
  if (result.number == 0) result.number = step;
  for (const Stamps& range : ranges) {
    const bool stands_in_the_way = !usable(range, result.number);
    result.overwrite.push_back(stands_in_the_way && !L3DML_MUTATE(stamps_not_overwritten) &&
                               !L3DML_MUTATE(first_number_not_newer));
  }
  return result;
}

Stamps after_epoch(const Stamps& before, uint32_t first, uint32_t lowest, uint32_t newest, uint32_t entries) {
  Stamps result = before;
  if (distance(newest, before.newest) > 0) result.newest = newest;
  // Entries are visited in order of numbers, so once ring x shards of them have passed, the old ones are all
  // gone.
  if (distance(lowest, first) >= 0 && lowest - first >= entries - 1) result.oldest = lowest - entries + 1;
  return result;
}

}  // namespace l3dml::control
