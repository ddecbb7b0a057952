// Transport over a port of dataplane/io: a job whose packets no kernel touches. Any DPDK device will do
// (memif, af_xdp, a NIC by its PCI address); it is polled while there is work and slept on by its interrupt
// where it has one, as the switch's workers do. Pacing is the core's, the lanes are quantised into the very
// buffer that the device sends.
//
// The worker's IPv6 addresses need not exist anywhere: frames are made here (frame.h). The switch must know
// our link-layer address (or be promiscuous about it), we its own: nobody asks for neighbours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/io/port.h"
#include "tools/host/frame_sink.h"
#include "tools/host/transport.h"

namespace l3dml::host {

struct DpdkOptions {
  std::string
      device;  // "net_memif0,role=client,socket=/run/m.sock", "net_af_xdp0,iface=eth1", "0000:01:00.0"
  std::vector<std::string> eal;   // arguments of DPDK's EAL, for example -a 0000:01:00.0
  wire::MacAddress switch_mac{};  // of the switch, or of the next router
  unsigned buffers = 8192;        // packets
  uint32_t max_frame = 1514;      // bytes
  int64_t spin_ns = 20'000;       // stay awake so long after the last packet
};

class PortTransport final : public Transport {
 public:
  // `keep` lives as long as the transport (the pool of the port); own and next: link-layer addresses.
  PortTransport(std::unique_ptr<io::Port> port, base::PacketPool* pool, const wire::MacAddress& own,
                const wire::MacAddress& next, int64_t spin_ns, std::shared_ptr<void> keep = nullptr);
  ~PortTransport() override;

  absl::Status open(std::span<const StripeConfig> stripes) override;
  void redirect(unsigned stripe, const StripeConfig& config) override;
  bool receive(PacketReceiver& receiver, int64_t now_ns) override;
  PacketSink& sink(unsigned stripe) override { return *sinks_[stripe]; }
  void flush() override;
  void wait(int64_t deadline_ns, int64_t quiet_ns) override;
  void wake() override;
  int64_t now_ns() override { return clock_.now_ns(); }

  const io::Port& port() const { return *port_; }
  uint64_t strays() const { return strays_; }  // frames that were no packet of ours

 private:
  std::shared_ptr<void> keep_;
  std::unique_ptr<io::Port> port_;
  base::PacketPool* pool_;
  wire::MacAddress own_, next_;
  int64_t spin_ns_, busy_ns_ = 0;
  base::MonotonicClock clock_;
  std::vector<StripeConfig> stripes_;
  std::vector<std::unique_ptr<FrameSink>> sinks_;  // by stripe
  int wake_;                                       // eventfd
  uint64_t strays_ = 0;
};

// Starts DPDK (once per process), opens the device. Error: what is missing.
absl::StatusOr<std::unique_ptr<PortTransport>> open_dpdk_transport(const DpdkOptions& options);

}  // namespace l3dml::host
