// Any DPDK Ethernet device as a port: PCI NICs and the virtual ones (tap, af_packet, af_xdp, memif, pcap,
// ring, null). One EthdevPort is one receive and one transmit queue; a device with several gives several
// ports, one per pipe. Offloads are used where the device has them, done in software where not.
//
// Threads: the port's worker. Packets sent must come from an MbufPool.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/io/mbuf_pool.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

struct EthdevConfig {
  std::string name;  // ours, for messages
  std::string
      device;  // "net_tap0,iface=x", "net_af_packet0,iface=eth1", "0000:01:00.0"; a name EAL already knows
  unsigned queues = 1;  // receive queues wanted = pipes it serves
  uint16_t rx_descriptors = 1024;
  uint16_t tx_descriptors = 1024;
  unsigned tx_backlog = 4096;  // packets that may wait when the device's own queue is full
  bool wants_checksum = false;
  bool promiscuous = true;
  bool allow_chains = true;   // false: one piece only, whatever the driver claims
  uint32_t max_frame = 1514;  // sets the device's MTU
};

// The DPDK device: started by open(), stopped when the last port of it goes.
class Ethdev {
 public:
  ~Ethdev();
  uint16_t id = 0;
  unsigned queues = 1;  // may be fewer than wanted: what the device has
  bool checksum_offload = false;
  bool multi_segment = false;  // transmits chains
  std::vector<int> wake_fds;   // per queue, or one for all, or none
  bool interrupts = false;     // needs arming
  bool probed = false;         // by us, so removed by us
  std::string mac;
};

class EthdevPort final : public Port {
 public:
  // One port per queue that the device could give, at least one.
  static absl::StatusOr<std::vector<std::unique_ptr<EthdevPort>>> open(const EthdevConfig& config,
                                                                       MbufPool& pool);
  ~EthdevPort() override;

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override;
  void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) override;
  PortStats stats() const override;
  bool link_up() const override;
  int64_t next_deadline_ns() const override { return backlog_.empty() ? base::kNever : 0; }
  int wake_fd() const override;
  bool arm() override;
  void disarm() override;

  const Ethdev& device() const { return *device_; }

 private:
  EthdevPort(const EthdevConfig& config, std::shared_ptr<Ethdev> device, uint16_t queue, MbufPool& pool);
  rte_mbuf* prepare(base::Packet* packet);
  void flush();

  std::shared_ptr<Ethdev> device_;
  uint16_t queue_;
  MbufPool& pool_;
  size_t backlog_limit_;            // packets
  std::vector<rte_mbuf*> backlog_;  // waits for room in the device, oldest first
  PortStats stats_;
};

}  // namespace l3dml::io
