// A register array of one pipe. As on the chip it may be reached once per packet and pass, at one index;
// debug builds check that. Control-plane access (BfRuntime) goes through cell().
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace l3dml::tna {

// Counts passes: the pipe opens a new one for each packet (and each recirculation) it handles.
class Pass {
 public:
  void open() { ++number_; }
  uint64_t number() const { return number_; }

 private:
  uint64_t number_ = 1;
};

template <typename Cell>
class Register {
 public:
  Register(size_t size, const Pass* pass) : cells_(size), pass_(pass) {}

  // The one access of this pass.
  Cell& access(uint32_t index) {
#ifndef NDEBUG
    assert(last_pass_ != pass_->number() && "a register is reached once per packet and pass");
    last_pass_ = pass_->number();
#endif
    return cells_[index];
  }
  Cell& cell(uint32_t index) { return cells_[index]; }
  const Cell& cell(uint32_t index) const { return cells_[index]; }
  void prefetch(uint32_t index) const { __builtin_prefetch(&cells_[index], 1); }
  uint32_t size() const { return static_cast<uint32_t>(cells_.size()); }

 private:
  std::vector<Cell> cells_;
  const Pass* pass_;
#ifndef NDEBUG
  uint64_t last_pass_ = 0;
#endif
};

}  // namespace l3dml::tna
