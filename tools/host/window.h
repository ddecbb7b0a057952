// The W positions of a stripe's window, the queues they wait in, and the copies of their last results.
// Private to the worker core.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dataplane/base/clock.h"

namespace l3dml::host {

class OpenCollective;

// What a chunk needs next; it outlives an epoch, since its results do.
struct Stage {
  enum class Kind : uint8_t {
    fresh,
    ask,
    given
  } kind = Kind::fresh;  // ask: an UP without lanes, for the exponent
  uint8_t exp = 0;       // given: the exponent that was told
  uint8_t repeats = 0;   // results that had to be repeated
};

struct Position {
  enum class State : uint8_t { idle, ready, blocked, stopped, flying } state = State::idle;
  Stage stage;
  uint64_t place = 0;                    // of its present or next chunk in the stripe's sequence
  OpenCollective* collective = nullptr;  // of the present chunk; null: idle
  uint32_t chunk = 0;                    // within the collective
  uint32_t next_number = 0;

  // The number in flight. All of this is fixed when it is first sent.
  uint32_t number = 0;
  uint8_t exp = 0, next_exp = 0;
  bool asking = false, empty = false;
  bool decided = false, abstains = false;  // once per chunk and epoch

  uint32_t seq = 0;  // of its newest packet
  bool resend = false, touched = false, probed = false;
  bool urgent_queued = false, ready_queued = false;
  bool confirmed = false;               // the aggregator has said that it is there, and waits for others
  bool in_turn = false;                 // first sent behind all that was begun before, not as a repeat
  int64_t sent_ns = 0, touched_ns = 0;  // first sent; last sent or asked about
  uint32_t before = 0, after = 0;       // neighbours in the order of touched_ns
};

// Positions waiting to send; each is in it at most once.
class PositionQueue {
 public:
  explicit PositionQueue(uint32_t window) : ring_(window) {}
  bool empty() const { return count_ == 0; }
  uint32_t front() const { return ring_[head_]; }
  void push(uint32_t position) { ring_[(head_ + count_++) & (ring_.size() - 1)] = position; }
  void pop() {
    head_ = (head_ + 1) & (ring_.size() - 1);
    --count_;
  }

 private:
  std::vector<uint32_t> ring_;
  size_t head_ = 0, count_ = 0;
};

// The positions in flight, in the order in which they were last sent or asked about.
class Flight {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  explicit Flight(std::vector<Position>& positions) : positions_(positions) {}

  uint32_t oldest() const { return first_; }
  void append(uint32_t p) {
    positions_[p].before = last_;
    positions_[p].after = kNone;
    (last_ == kNone ? first_ : positions_[last_].after) = p;
    last_ = p;
  }
  void remove(uint32_t p) {
    const Position& at = positions_[p];
    (at.before == kNone ? first_ : positions_[at.before].after) = at.after;
    (at.after == kNone ? last_ : positions_[at.after].before) = at.before;
  }
  void clear() { first_ = last_ = kNone; }

 private:
  std::vector<Position>& positions_;
  uint32_t first_ = kNone, last_ = kNone;
};

// The last result of each position, as it came.
class ResultStore {
 public:
  struct Entry {
    bool held = false;
    uint32_t number = 0;
    uint8_t exp = 0, next_exp = 0;
    uint16_t weight = 0;
  };
  ResultStore(uint32_t window, uint32_t lanes)
      : entries_(window), lane_bytes_(size_t{lanes} * 4), lanes_(window * lane_bytes_) {}

  void put(uint32_t position, const Entry& entry, const uint8_t* lanes) {
    entries_[position] = entry;
    std::memcpy(&lanes_[position * lane_bytes_], lanes, lane_bytes_);
  }
  const Entry& entry(uint32_t position) const { return entries_[position]; }
  const uint8_t* lanes(uint32_t position) const { return &lanes_[position * lane_bytes_]; }

 private:
  std::vector<Entry> entries_;
  size_t lane_bytes_;
  std::vector<uint8_t> lanes_;
};

}  // namespace l3dml::host
