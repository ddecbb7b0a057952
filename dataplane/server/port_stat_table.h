// $PORT_STAT: counters of added ports, under the chip's names. Writing a value moves a base, so the device's
// own counters only ever grow. Counters of frames and octets are the MAC's; a frame that the port's queue
// then drops is counted as sent only in the classes (DECISIONS 0531). See Table for threads and failure.
#pragma once

#include <array>

#include "dataplane/server/port_table.h"

namespace l3dml::server {

class PortStatTable : public Table {
 public:
  using Table::Table;

  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    return modify(context, key, data);
  }
  absl::Status clear(WriteContext& context) override;
  absl::Status read(const ReadQuery&, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery&, const Emit& emit) override;
  void wipe(WriteContext&) override {
    bases_.clear();
    samples_.clear();
    forget_attributes();
  }
  bool ticks() const override { return true; }
  // Rates ($TX_PPS, $RX_PPS, $TX_RATE, $RX_RATE) are those of the last whole poll interval, if one is set.
  void tick(int64_t now_ns) override;

 private:
  static constexpr size_t kFields = 96;          // ids count from 1
  using Values = std::array<uint64_t, kFields>;  // by field id

  const PortTable& ports() const { return *static_cast<PortTable*>(device_.table("$PORT")); }
  Values counters(uint32_t port) const;  // while the pipeline stands
  Values base(uint32_t port) const;
  void emit_port(const Key& key, const Values& raw, const Emit& emit) const;

  struct Sample {
    int64_t time_ns = 0;
    Values values{};
    std::array<uint64_t, 4> rates{};  // frames and bits per second, sent and received, in the table's order
  };
  absl::flat_hash_map<uint32_t, Sample> samples_;  // by port
  int64_t next_poll_ns_ = 0;
  absl::flat_hash_map<uint32_t, Values> bases_;  // added to the device's counters, modulo 2^64
};

}  // namespace l3dml::server
