// What ought to be: the book of one epoch of one job, kept beside the protocol and never read by it. Every UP
// and DOWN that leaves a member or a switch is entered; what does not follow from what was entered before is
// a violation.
//
// Per number and node (member or aggregator) it holds what the node first sent upward. An aggregator's UP
// must be the exact sum of its children's, with their exponent, the greatest wish and all their weights;
// anything sent again must be the same again; a DOWN must be the root's sum. Lanes are compared by a linear
// hash (frame.h), so an entry is 12 bytes and a check costs one pass over the lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/sim/frame.h"
#include "tools/sim/outcome.h"
#include "tools/sim/tree.h"

namespace l3dml::sim {

class Ledger {
 public:
  struct Shape {
    uint16_t job = 0;
    uint8_t epoch = 0;
    uint32_t first_number = 0;
    uint32_t window = 0;
    uint32_t entries = 0;  // ring x shards
    uint32_t lanes = 0;
    std::vector<uint32_t> members;  // in this epoch
    bool exponents_differ = false;  // members may disagree; then the aggregators must notice
  };
  Ledger(const Shape& shape, const Tree& tree);

  using Check = std::optional<Violation>;
  Check member_sends(uint32_t member, const Frame& frame);          // UP
  Check aggregator_sends(uint32_t aggregator, const Frame& frame);  // UP or DOWN
  Check member_holds(uint32_t member, uint32_t number);             // took a result as held
  bool holds(uint32_t member, uint32_t number) const;
  bool begun(uint32_t number) const { return live(number); }  // somebody sent it, not long ago

  const Shape& shape() const { return shape_; }
  const Tree& tree() const { return tree_; }
  uint64_t numbers_final() const { return numbers_final_; }  // held by every member
  bool wrapped() const { return wrapped_; }                  // numbers went on from 0

 private:
  struct Sent {
    uint32_t hash = 0;
    uint16_t weight = 0;
    uint8_t exp = 0, next_exp = 0;
    uint8_t known = 0, lanes = 0;
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  struct Row {
    uint32_t number = 0;
    bool used = false;
    uint32_t held = 0;    // members that hold the result
    uint32_t opener = 0;  // the member that sent it first
  };

  size_t place(uint32_t number) const { return number & (rows_.size() - 1); }
  Sent& sent(uint32_t number, uint32_t node) { return sent_[place(number) * nodes_ + node]; }
  bool live(uint32_t number) const;              // has a row
  Check open(uint32_t number, uint32_t member);  // gives it a row; `member` is the first to send it
  Check again(const Sent& before, const Sent& now, const Frame& frame, uint32_t node) const;
  std::optional<Sent> sum_of_children(uint32_t aggregator, uint32_t number, std::string* missing);
  Violation violation(const char* name, uint32_t node, uint32_t number, const std::string& text) const;

  Shape shape_;
  Tree tree_;
  size_t members_;  // places for members (nodes 0 .. members_ - 1; aggregators follow)
  size_t nodes_;
  std::vector<bool> in_epoch_;  // by member
  std::vector<Row> rows_;
  std::vector<Sent> sent_;
  std::vector<bool> held_;  // by place x member
  std::vector<uint32_t>
      next_;  // by position x member: times its numbers were sent (the next one's place in the queue)
  uint64_t numbers_final_ = 0;
  bool wrapped_ = false;
};

}  // namespace l3dml::sim
