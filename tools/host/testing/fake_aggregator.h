// A root aggregator in a few lines, written from DESIGN sections 5 and 6 alone: what the worker core is
// tested against when the real pipeline would hide which side is wrong. Test code: maps and vectors, host
// order, no speed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dataplane/wire/header.h"
#include "tools/host/job_config.h"

namespace l3dml::host::testing {

struct Datagram {  // what follows UDP
  std::vector<uint8_t> bytes;
  unsigned shard = 0;
  bool ce = false;

  const wire::L3dmlHeader& header() const {
    return *reinterpret_cast<const wire::L3dmlHeader*>(bytes.data());
  }
  wire::L3dmlHeader& header() { return *reinterpret_cast<wire::L3dmlHeader*>(bytes.data()); }
  size_t lane_count() const { return (bytes.size() - wire::kL3dmlSize) / 4; }
};

class FakeAggregator {
 public:
  using Send = std::function<void(unsigned child, Datagram)>;

  FakeAggregator(const StripeConfig& stripe, unsigned children, Send send);
  void receive(const Datagram& packet);
  void send_syncs();  // the quiet time has come

  // What all entries hold before anything arrives.
  void set_stamps(uint32_t stamp) { blank_stamp_ = stamp; }

  // Violations of the rules for senders, as sentences; empty if all is well.
  std::vector<std::string> complaints;
  uint64_t finished = 0;          // entries that became done
  std::set<wire::Type> withheld;  // types never sent to workers

 private:
  struct Entry {
    uint32_t stamp = 0;
    std::set<unsigned> seen;
    bool done = false;
    std::vector<uint32_t> lanes;
    uint8_t exp = 0, exp_max = 0;
    uint16_t weight = 0;
  };
  struct Segment {
    uint32_t expected = 0, next = 0;
    std::map<uint32_t, uint32_t> numbers;  // seq -> number
  };

  Entry& entry(uint32_t slot, unsigned shard);
  Segment& segment(unsigned child, unsigned shard) { return segments_[{child, shard}]; }
  void emit(unsigned child, unsigned shard, Datagram packet);
  void up(const Datagram& packet);
  void probe(const Datagram& packet);
  void nack(const Datagram& packet);
  void answer_hole(unsigned child, unsigned shard, uint32_t first, uint32_t next);
  void down(unsigned child, const Entry& entry);
  Datagram make(wire::Type type, uint8_t flags, unsigned child, uint32_t number) const;

  StripeConfig stripe_;
  unsigned children_;
  uint32_t blank_stamp_ = 0;
  Send send_;
  std::map<uint32_t, Entry> ring_;  // by absolute slot and shard
  std::map<std::pair<unsigned, unsigned>, Segment> segments_;
  struct Said {
    uint32_t least_seq;
    size_t digest;  // of the packet but for RETX and seq: must never change
  };
  std::map<std::pair<unsigned, uint32_t>, Said> said_;  // by child and number
};

}  // namespace l3dml::host::testing
