// Transport over UDP sockets, one per local address and port: sendmmsg with segmentation offload, recvmmsg
// with receive offload, congestion marks from the traffic class. Needs no privilege. Pacing is the core's.
#pragma once

#include <memory>

#include "tools/host/transport.h"

namespace l3dml::host {

struct UdpOptions {
  bool segment_offload = true;           // UDP_SEGMENT and UDP_GRO where the kernel has them
  size_t socket_buffer_bytes = 8 << 20;  // asked of the kernel, which may give less
  std::string device;                    // bind to this interface; empty: routes decide
};

class UdpTransport final : public Transport {
 public:
  explicit UdpTransport(const UdpOptions& options = {});
  ~UdpTransport() override;

  absl::Status open(std::span<const StripeConfig> stripes) override;
  void redirect(unsigned stripe, const StripeConfig& config) override;
  bool receive(PacketReceiver& receiver, int64_t now_ns) override;
  PacketSink& sink(unsigned stripe) override;
  void flush() override;
  void wait(int64_t deadline_ns, int64_t quiet_ns) override;
  void wake() override;
  int64_t now_ns() override;

  bool segment_offload() const;  // in use

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace l3dml::host
