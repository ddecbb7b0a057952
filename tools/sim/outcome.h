// What came of a run: the first violation, if any, and what was seen on the way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/base/drop_reason.h"

namespace l3dml::sim {

struct Violation {
  std::string name;  // of the invariant
  std::string text;
};

// Things that show only in the run, for coverage: times they happened.
struct Seen {
  uint32_t depths = 0;             // bit d: a tree with d levels of aggregators
  uint64_t changes_in_flight = 0;  // members paused with numbers under way
  uint64_t windows_changed = 0;    // epochs with another window than the one before
  uint64_t numbers_wrapped = 0, seqs_wrapped = 0;
  uint64_t stamps_overwritten = 0;
  uint64_t not_finite = 0;  // results that said so

  void add(const Seen& other) {
    depths |= other.depths;
    changes_in_flight += other.changes_in_flight;
    windows_changed += other.windows_changed;
    numbers_wrapped += other.numbers_wrapped;
    seqs_wrapped += other.seqs_wrapped;
    stamps_overwritten += other.stamps_overwritten;
    not_finite += other.not_finite;
  }
};

struct Outcome {
  std::optional<Violation> violation;
  int64_t virtual_ns = 0;
  uint64_t packets = 0;  // handled by devices and hosts
  uint64_t events = 0;   // packets and timers
  uint64_t collectives = 0, chunks = 0, repeats = 0, asked = 0, abstained = 0, retransmitted = 0, epochs = 0,
           failed_members = 0;
  Seen seen;
  std::array<uint64_t, base::kDropReasons> drops{};  // of all devices, by reason
};

}  // namespace l3dml::sim
