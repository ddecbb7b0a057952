// The seam between a device's driver (dataplane/server) and the program it runs: for each table, register and
// counter of bf-rt.json the program offers a "twin", the live object of the pipeline that the entry lands in.
// The driver keeps the shadow (keys, defaults, capacity, errors); a twin only applies what was already
// accepted.
//
// Threads: every call except check() is made inside Executor::run(), that is while all pipes of the device
// stand between two bursts. So a packet sees a table before or after a request, never in between.
// Program tables without a twin (any P4 program in schema mode) hold state in the shadow alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace l3dml::tna {

enum class MatchKind : uint8_t { exact, ternary, lpm, range, optional };

// One key field, in schema order. Values are big-endian, exactly ceil(width / 8) bytes, spare bits zero.
struct MatchField {
  MatchKind kind = MatchKind::exact;
  bool present = true;    // false: don't care (ternary, lpm, range, optional only)
  std::string value;      // range: low end
  std::string mask;       // ternary: mask (value is already value AND mask); range: high end
  int prefix_length = 0;  // lpm, bits
};

struct Entry {
  std::vector<MatchField> key;      // schema order; empty for a default entry
  uint32_t priority = 0;            // $MATCH_PRIORITY, lower wins
  std::string action;               // name as in bf-rt.json, e.g. "Ingress.admission.admit"; empty: none
  std::vector<std::string> params;  // action parameters in schema order, big-endian, exact width
};

using Handle = uint32_t;  // names an entry of one table until it is removed; given by the driver

struct CounterValue {
  uint64_t bytes = 0;
  uint64_t packets = 0;
};

class TableTwin {
 public:
  virtual ~TableTwin() = default;
  // Can the pipeline hold this entry? Any thread, no side effect. An error goes to the client as it is.
  virtual absl::Status check(const Entry& entry) const = 0;
  virtual void insert(Handle handle, const Entry& entry) = 0;
  virtual void modify(Handle handle, const Entry& entry) = 0;  // same key, other action or data
  virtual void remove(Handle handle) = 0;
  virtual void set_default(const Entry& entry) = 0;  // no action: back to the program's own default
  // Direct counter and idle time-out support; tables without them keep these.
  virtual CounterValue counter(Handle) const { return {}; }
  virtual void set_counter(Handle, CounterValue) {}
  virtual bool take_hit(Handle) { return false; }  // was it hit since the last call?
};

class RegisterTwin {
 public:
  virtual ~RegisterTwin() = default;
  virtual uint32_t size() const = 0;                                              // cells
  virtual std::array<uint64_t, 2> read(unsigned pipe, uint32_t index) const = 0;  // first, second (or f1, 0)
  virtual void write(unsigned pipe, uint32_t index, std::array<uint64_t, 2> value) = 0;
  virtual std::array<uint64_t, 2> initial() const { return {0, 0}; }  // what clearing the table writes
};

class CounterTwin {
 public:
  virtual ~CounterTwin() = default;
  virtual uint32_t size() const = 0;
  virtual unsigned pipes() const = 0;
  virtual CounterValue read(unsigned pipe, uint32_t index) const = 0;
  virtual void write(unsigned pipe, uint32_t index, CounterValue value) = 0;
  CounterValue read(uint32_t index) const {  // summed over pipes
    CounterValue sum;
    for (unsigned pipe = 0; pipe < pipes(); ++pipe) {
      const CounterValue value = read(pipe, index);
      sum.bytes += value.bytes;
      sum.packets += value.packets;
    }
    return sum;
  }
};

// What a deparser packed for the control plane: one record of a learn filter.
struct Digest {
  std::string filter;               // name as in bf-rt.json
  std::vector<std::string> fields;  // schema order, big-endian, exact width
};

// Runs a function while every pipe of the device stands between two bursts; returns when it has run.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void run(const std::function<void()>& function) = 0;
};

// The packet replication engine as $pre.* sees it.
class ReplicationTwin {
 public:
  struct Node {
    uint16_t rid = 0;
    bool xid_valid = false;
    uint16_t xid = 0;
    std::vector<uint16_t> ports;  // device ports; of each LAG one member is chosen by the driver
  };
  virtual ~ReplicationTwin() = default;
  virtual void set_group(uint16_t mgid, std::vector<Node> nodes) = 0;  // replaces the group
  virtual void remove_group(uint16_t mgid) = 0;
  virtual void set_prune(uint16_t l2_xid, std::vector<uint16_t> ports) = 0;
};

class MirrorTwin;     // mirror.h
class GeneratorTwin;  // packet_generator.h

// What a device offers its driver. Null where the program has no such object (then only the shadow holds
// state).
class DeviceTwin {
 public:
  virtual ~DeviceTwin() = default;
  virtual unsigned pipes() const = 0;
  virtual Executor& executor() = 0;
  virtual TableTwin* table(std::string_view name) = 0;
  virtual RegisterTwin* register_array(std::string_view name) = 0;
  virtual CounterTwin* counter(std::string_view name) = 0;
  virtual ReplicationTwin* replication() = 0;
  virtual MirrorTwin* mirrors() { return nullptr; }
  virtual GeneratorTwin* generator() { return nullptr; }
  // Hands over the digests packed since the last call.
  virtual void take_digests(std::vector<Digest>&) {}
};

}  // namespace l3dml::tna
