// Counters of one pipe: packets, bytes or both per index. A read sums over pipes (CounterTwin). One thread.
#pragma once

#include <algorithm>
#include <vector>

#include "dataplane/tna/twin.h"

namespace l3dml::tna {

enum class CounterType : uint8_t { packets, bytes, packets_and_bytes };

class Counter {
 public:
  Counter(size_t size, CounterType type) : type_(type), cells_(size) {}

  // `adjust` bytes are taken off, as count(index, adjust) does (headers that the switch put in front).
  void count(uint32_t index, uint32_t bytes, uint32_t adjust = 0) {
    CounterValue& cell = cells_[index];
    if (type_ != CounterType::bytes) ++cell.packets;
    if (type_ != CounterType::packets) cell.bytes += bytes - std::min(bytes, adjust);
  }
  CounterValue& cell(uint32_t index) { return cells_[index]; }
  const CounterValue& cell(uint32_t index) const { return cells_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(cells_.size()); }

 private:
  CounterType type_;
  std::vector<CounterValue> cells_;
};

// One counter in several pipes, as the driver sees it.
class PipeCounters final : public CounterTwin {
 public:
  PipeCounters(unsigned pipes, size_t size, CounterType type) : pipes_(pipes, Counter(size, type)) {}
  Counter& pipe(unsigned index) { return pipes_[index]; }

  uint32_t size() const override { return pipes_[0].size(); }
  unsigned pipes() const override { return static_cast<unsigned>(pipes_.size()); }
  using CounterTwin::read;  // summed over pipes
  CounterValue read(unsigned pipe, uint32_t index) const override { return pipes_[pipe].cell(index); }
  void write(unsigned pipe, uint32_t index, CounterValue value) override { pipes_[pipe].cell(index) = value; }

 private:
  std::vector<Counter> pipes_;
};

}  // namespace l3dml::tna
