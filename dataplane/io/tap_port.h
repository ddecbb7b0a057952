// A Linux tap interface, read and written directly: the port of a lab's workers. Unlike DPDK's tap driver it
// sleeps without signals, can open the interface inside another network namespace, and trades checksums and
// UDP segmentation with the host by virtio headers: a burst of datagrams of one flow crosses in one system
// call in either direction, and what we send arrives as "already verified", so that GRO merges.
//
// Threads: the port's worker. Failure: open() says what is missing; later errors show in stats(). An
// interface that is removed under us leaves a port that is down.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/io/port.h"
#include "dataplane/io/segmented_frame.h"

namespace l3dml::io {

struct TapConfig {
  std::string name;               // ours, for messages
  std::string interface;          // created if it does not exist, else attached to
  std::string netns;              // name under /run/netns to open it in; empty: where the process is
  std::string mac;                // of the host side; empty: the kernel's choice
  unsigned mtu = 1500;            // bytes
  unsigned queue_packets = 4096;  // from the host to us (txqueuelen)
  bool wants_checksum = true;
  bool offload = true;  // checksums and UDP segmentation by virtio header, where the kernel can
};

class TapPort final : public Port {
 public:
  static absl::StatusOr<std::unique_ptr<TapPort>> open(const TapConfig& config, base::PacketPool& pool);
  ~TapPort() override;

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override;
  void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) override;
  PortStats stats() const override { return stats_; }
  bool link_up() const override { return fd_ >= 0; }
  int64_t next_deadline_ns() const override { return frame_.empty() ? base::kNever : 0; }
  int wake_fd() const override { return fd_; }
  bool needs_wake_fd() const override { return fd_ >= 0; }
  void wake() override { readable_ = true; }
  bool waits_for_wake() const override { return true; }

 private:
  TapPort(const TapConfig& config, int fd, bool segments, base::PacketPool& pool);
  bool read_frame();
  void write_run(std::span<base::Packet* const> run);
  void close_removed();

  int fd_;
  bool segments_;  // the kernel takes UDP segments in one piece
  base::PacketPool& pool_;
  bool readable_ = true;  // the last read found something, or the worker said so
  SegmentedFrame frame_;  // the frame last read; handed out over several bursts if it has many segments
  PortStats stats_;
};

}  // namespace l3dml::io
