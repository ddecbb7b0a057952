// The sending half of UdpTransport for one stripe: a PacketSink whose packets lie one behind the other in a
// buffer per shard, so that a run of equal ones is one system call with segmentation offload (UDP_SEGMENT;
// the last of a run may be shorter). Private to the transport.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <netinet/in.h>

#include "tools/host/packet_sink.h"

namespace l3dml::host {

class UdpSender final : public PacketSink {
 public:
  // `destination` of shard 0; shard k is at its port + k.
  UdpSender(int socket, const sockaddr_in6& destination, unsigned shards, bool segment_offload);

  uint8_t* reserve(unsigned shard, size_t size_bytes) override;
  void commit(size_t size_bytes) override;
  // Gives the kernel what it takes; false if it takes no more now.
  bool flush();
  bool pending() const { return pending_ != 0; }

  bool segment_offload() const { return segment_offload_; }
  uint64_t lost() const { return lost_; }  // packets that the kernel refused: no route, no memory

 private:
  static constexpr size_t kBufferBytes =
      63 << 10;  // under the largest UDP packet, so that all of it may be one run
  static constexpr unsigned kMostSegments = 64;  // of a run: UDP_MAX_SEGMENTS of older kernels

  struct Run {
    uint32_t offset = 0, size = 0;
    uint16_t segment = 0, count = 0;  // bytes of each packet but the last; packets
    bool closed = false;
  };
  struct Shard {
    std::unique_ptr<uint8_t[]> buffer;
    uint32_t used = 0;
    std::vector<Run> runs;
    sockaddr_in6 destination{};
  };
  bool send_burst(Shard& shard);
  void split(Shard& shard, size_t run);  // into runs of one packet: there is no offload here

  int socket_;
  bool segment_offload_;
  std::vector<Shard> shards_;
  unsigned reserved_ = 0;  // shard
  size_t pending_ = 0;     // packets
  uint64_t lost_ = 0;
};

}  // namespace l3dml::host
