// Where a worker core leaves its packets. The transport hands out the very bytes that go on the wire, so
// lanes are quantised into the transmit buffer and never copied. A packet here is what follows UDP: L3DML
// header, then lanes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace l3dml::host {

class PacketSink {
 public:
  virtual ~PacketSink() = default;
  // Room for one packet of up to size_bytes to the stripe's aggregator, UDP port 19507 + shard; valid until
  // commit(). Null: full, the core goes on at its next poll. Each reserve() that gave room is followed by
  // commit().
  virtual uint8_t* reserve(unsigned shard, size_t size_bytes) = 0;
  virtual void commit(size_t size_bytes) = 0;  // what was written: at most what was reserved
};

}  // namespace l3dml::host
