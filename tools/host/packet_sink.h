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
  // Room for one packet to the stripe's aggregator, UDP port 19507 + shard; valid until commit(). Null: full,
  // the core goes on at its next poll. Each reserve() is followed by commit() before the next reserve().
  virtual uint8_t* reserve(unsigned shard, size_t size_bytes) = 0;
  virtual void commit() = 0;
};

}  // namespace l3dml::host
