// A meter: two-rate three-colour marker of RFC 2698, colour-blind or colour-aware, in bytes or packets. Two
// buckets are filled at the peak and the committed rate; a packet is red if the peak bucket lacks tokens (or
// it came red), yellow if the committed one does (or it came yellow), else green. Exact: tokens are counted
// in 1/1e9 of a unit, so no rate loses anything to rounding. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dataplane/tna/intrinsic.h"

namespace l3dml::tna {

struct MeterSpec {
  uint64_t cir = 0, pir = 0;  // units (bytes or packets) a second; pir >= cir
  uint64_t cbs = 0, pbs = 0;  // units
};

class Meter {
 public:
  void configure(const MeterSpec& spec, int64_t now_ns) {
    spec_ = spec;
    committed_ = {0, spec.cbs};
    peak_ = {0, spec.pbs};
    last_ns_ = now_ns;
  }
  const MeterSpec& spec() const { return spec_; }

  Color execute(int64_t now_ns, uint64_t units, Color before = Color::green) {
    const auto elapsed_ns = static_cast<uint64_t>(std::max<int64_t>(0, now_ns - last_ns_));
    last_ns_ = std::max(last_ns_, now_ns);
    fill(committed_, spec_.cir, spec_.cbs, elapsed_ns);
    fill(peak_, spec_.pir, spec_.pbs, elapsed_ns);
    if (before == Color::red || peak_.units < units) return Color::red;
    peak_.units -= units;
    if (before == Color::yellow || committed_.units < units) return Color::yellow;
    committed_.units -= units;
    return Color::green;
  }

 private:
  static constexpr uint64_t kSecond = 1'000'000'000;
  struct Bucket {
    uint64_t rest = 0;  // 1/1e9 of a unit, less than one
    uint64_t units = 0;
  };
  static void fill(Bucket& bucket, uint64_t rate, uint64_t size, uint64_t elapsed_ns) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide more = static_cast<Wide>(rate) * elapsed_ns + bucket.rest;
    const Wide units = more / kSecond + bucket.units;
    bucket.rest = static_cast<uint64_t>(more % kSecond);
    if (units >= size)
      bucket = {0, size};
    else
      bucket.units = static_cast<uint64_t>(units);
  }

  MeterSpec spec_;
  Bucket committed_, peak_;
  int64_t last_ns_ = 0;
};

// What $METER_SPEC_* of a table row say. A row that nobody configured lets everything pass green, as on the
// chip.
class MeterArray {
 public:
  enum class Unit : uint8_t { bytes, packets };
  MeterArray(size_t size, Unit unit) : unit_(unit), meters_(size), configured_(size) {}

  void configure(uint32_t index, const MeterSpec& spec, int64_t now_ns) {
    meters_[index].configure(spec, now_ns);
    configured_[index] = true;
  }
  void reset(uint32_t index) { configured_[index] = false; }
  // bytes: of the frame, with what the program adjusts.
  Color execute(uint32_t index, int64_t now_ns, uint32_t bytes, Color before = Color::green) {
    if (!configured_[index]) return before;
    return meters_[index].execute(now_ns, unit_ == Unit::bytes ? bytes : 1, before);
  }
  uint32_t size() const { return static_cast<uint32_t>(meters_.size()); }

 private:
  Unit unit_;
  std::vector<Meter> meters_;
  std::vector<bool> configured_;
};

}  // namespace l3dml::tna
