// Forwarding of plain 64-byte packets through the pipeline on memory ports. Its peer is testpmd in io mode on
// net_null without copy, see bench/macro/testpmd.sh.
#include <memory>
#include <vector>

#include "bench/macro/compare.h"
#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::bench {

double forwarding_packets_per_second(const Options& options) {
  using pipeline::testing::Rig;
  Rig rig;
  const wire::Ipv6Address destination = wire::host_address(pipeline::testing::kPrefix, 0x0909, 7);
  tna::Entry route;
  route.key = {Rig::exact(Rig::bytes(destination))};
  route.action = "Ingress.forwarder.forward";
  route.params = {Rig::u(3, 9), Rig::bytes(pipeline::testing::kHostMac)};
  rig.insert("pipe.Ingress.forwarder.host6", route);
  auto frame = rig.control(wire::Type::up, 0, 0, 1);
  frame.frame.resize(64);
  frame.head().ipv6.dst_addr = destination;
  frame.head().ipv6.next_header = wire::kProtocolTcp;
  frame.head().ipv6.payload_length.set(10);
  frame.head().ipv6.hop_limit = 255;

  std::vector<base::Packet*> burst(base::kBurst);
  pipeline::Outbox out;
  const size_t bursts = options.quick ? 20'000 : 200'000;
  const double spent = seconds([&] {
    for (size_t i = 0; i < bursts; ++i) {
      for (base::Packet*& packet : burst) {
        packet = rig.pool.alloc();
        std::memcpy(packet->data, frame.frame.data(), 64);
        packet->size = 64;
        packet->port = 1;
      }
      rig.device->pipe(0).process(burst, 0, out);
      for (base::Packet* packet : out.packets()) base::release(packet);
      out.clear();
    }
  });
  return static_cast<double>(bursts * base::kBurst) / spent;
}

}  // namespace l3dml::bench
