// Forwarding of plain 64-byte packets through the pipeline on memory ports. The peer is what testpmd does in
// io mode on net_null without copy: receive a burst, send it, free what was not taken; one core, the same
// driver.
#include <memory>
#include <stdexcept>
#include <vector>

#include <rte_ethdev.h>

#include "bench/macro/compare.h"
#include "bench/macro/dpdk.h"
#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::bench {
namespace {

class Forwarding {
 public:
  Forwarding() {
    using pipeline::testing::Rig;
    const wire::Ipv6Address destination = wire::host_address(pipeline::testing::kPrefix, 0x0909, 7);
    tna::Entry route;
    route.key = {Rig::exact(Rig::bytes(destination))};
    route.action = "Ingress.forwarder.forward";
    route.params = {Rig::u(3, 9), Rig::bytes(pipeline::testing::kHostMac)};
    rig_.insert("pipe.Ingress.forwarder.host6", route);
    auto frame = rig_.control(wire::Type::up, 0, 0, 1);
    frame.frame.resize(64);
    frame.head().ipv6.dst_addr = destination;
    frame.head().ipv6.next_header = wire::kProtocolTcp;
    frame.head().ipv6.payload_length.set(10);
    frame.head().ipv6.hop_limit = 255;
    frame_ = frame.frame;
  }
  double packets_per_second(size_t bursts) {
    base::Packet* burst[base::kBurst];
    const double spent = seconds([&] {
      for (size_t i = 0; i < bursts; ++i) {
        rig_.pool.alloc_bulk(burst, base::kBurst);
        for (base::Packet* packet : burst) {
          std::memcpy(packet->data, frame_.data(), 64);
          packet->size = 64;
          packet->port = 1;
        }
        rig_.device->pipe(0).process(burst, 0, out_);
        rig_.pool.recycle_bulk(out_.packets().data(), static_cast<unsigned>(out_.packets().size()));
        out_.clear();
      }
    });
    return static_cast<double>(bursts * base::kBurst) / spent;
  }

 private:
  pipeline::testing::Rig rig_;
  std::vector<uint8_t> frame_;
  pipeline::Outbox out_;
};

class NullPorts {
 public:
  NullPorts() {
    rte_mempool* pool =
        rte_pktmbuf_pool_create("null", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    const rte_eth_conf configuration = {};
    for (uint16_t port : {0, 1}) {
      if (!pool || rte_eth_dev_configure(port, 1, 1, &configuration) != 0 ||
          rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool) != 0 ||
          rte_eth_tx_queue_setup(port, 0, 512, 0, nullptr) != 0 || rte_eth_dev_start(port) != 0)
        throw std::runtime_error("net_null: cannot be set up");
    }
  }
  double packets_per_second(size_t bursts) {
    rte_mbuf* burst[base::kBurst];
    size_t packets = 0;
    const double spent = seconds([&] {
      for (size_t i = 0; i < bursts; ++i) {
        const auto port = static_cast<uint16_t>(i & 1);
        const uint16_t received = rte_eth_rx_burst(port, 0, burst, base::kBurst);
        const uint16_t sent = rte_eth_tx_burst(port ^ 1, 0, burst, received);
        for (uint16_t k = sent; k < received; ++k) rte_pktmbuf_free(burst[k]);
        packets += sent;
      }
    });
    return static_cast<double>(packets) / spent;
  }
};

}  // namespace

std::vector<report::Row> forward_rows(const Options& options) {
  if (const absl::Status status = start_dpdk(); !status.ok())
    throw std::runtime_error(std::string(status.message()));
  Forwarding forwarding;
  static NullPorts null_ports;
  const size_t bursts = options.quick ? 5'000 : 50'000;
  return {ratio(
      "forwarding_64_bytes_vs_testpmd_io", 0.3, options,
      [&] { return forwarding.packets_per_second(bursts); },
      [&] { return null_ports.packets_per_second(bursts); },
      {{"peer", "testpmd's io loop on net_null,copy=0"}})};
}

}  // namespace l3dml::bench
