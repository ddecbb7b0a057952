// Packets that are DPDK mbufs: the Packet lies in the mbuf's private area, its bytes in the mbuf's buffer.
//
// A tail shared by several heads leaves as DPDK's ipv4_multicast example does it without clones: each head
// mbuf is chained to the one tail mbuf, whose reference count says how many chains hold it. The packet
// world's own claim on a tail is one of those references.
//
// Threads: any number; each DPDK-registered thread has a cache of its own.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/base/packet.h"

struct rte_mbuf;
struct rte_mempool;

namespace l3dml::io {

class MbufPool final : public base::PacketPool {
 public:
  struct Config {
    std::string name = "packets";
    unsigned count = 16384;     // packets
    uint32_t max_frame = 1514;  // bytes that fit into one buffer, headroom not counted
    unsigned cache = 256;       // packets kept per thread
  };
  static absl::StatusOr<std::unique_ptr<MbufPool>> create(const Config& config);
  // Bytes that such a pool takes, for the memory reservation.
  static uint64_t memory_bytes(const Config& config);
  ~MbufPool() override;

  base::Packet* alloc() override;
  void recycle(base::Packet* packet) override;
  unsigned alloc_bulk(base::Packet** packets, unsigned count) override;
  void recycle_bulk(base::Packet* const* packets, unsigned count) override;

  // A received mbuf becomes a packet. A chain that does not fit into its first buffer is freed: null.
  base::Packet* adopt(rte_mbuf* mbuf);
  // A packet (of this or another MbufPool) becomes an mbuf that the driver may free; tails are chained.
  static rte_mbuf* surrender(base::Packet* packet);

  rte_mempool* mempool() const { return mempool_; }
  unsigned available() const;  // slow: counts the caches

 private:
  explicit MbufPool(rte_mempool* mempool) : mempool_(mempool) {}
  rte_mempool* mempool_;
};

}  // namespace l3dml::io
