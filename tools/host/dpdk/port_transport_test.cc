// Jobs over real DPDK ports: two workers whose devices are ends of rings, a device of the data plane at the
// other ends, on a thread of its own. No hugepages, no privilege.
#include "tools/host/dpdk/port_transport.h"

#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "dataplane/io/copy.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/ethdev_port.h"
#include "dataplane/pipeline/testing/rig.h"
#include "dataplane/wire/address.h"
#include "tools/host/job.h"

namespace l3dml::host {
namespace {

using pipeline::testing::kOwnLocator;
using pipeline::testing::kPrefix;
using pipeline::testing::kSwitchMac;
using pipeline::testing::Rig;
using pipeline::testing::RigConfig;

constexpr unsigned kWorld = 2;
constexpr uint32_t kRing = 256;

RigConfig rig_config() {
  RigConfig c;
  c.children = kWorld;
  c.lanes = 256;
  c.slot_base = kRing;
  c.ring = kRing;
  c.seq_ring = 1024;
  return c;
}

class PortTransportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto status = io::start_eal({.arguments = {}, .memory_bytes = 96 << 20});
    if (!status.ok()) GTEST_SKIP() << status;
    for (unsigned rank = 0; rank < kWorld; ++rank) {
      const std::string tag = std::to_string(number_++);
      auto pool = io::MbufPool::create({.name = "pool" + tag, .count = 8191, .cache = 0});
      ASSERT_TRUE(pool.ok()) << pool.status();
      rte_ring* rings[2];
      for (int i = 0; i < 2; ++i)
        ASSERT_NE(rings[i] = rte_ring_create(("h" + tag + std::to_string(i)).c_str(), 4096, SOCKET_ID_ANY, 0),
                  nullptr);
      std::unique_ptr<io::EthdevPort> ends[2];
      for (int i = 0; i < 2; ++i) {
        const std::string name = "h" + tag + "end" + std::to_string(i);
        ASSERT_GE(rte_eth_from_rings(name.c_str(), &rings[i], 1, &rings[1 - i], 1, 0), 0);
        auto ports = io::EthdevPort::open({.name = name, .device = "net_ring_" + name}, **pool);
        ASSERT_TRUE(ports.ok()) << ports.status();
        ends[i] = std::move(ports->front());
      }
      std::shared_ptr<io::MbufPool> shared = *std::move(pool);
      pools_.push_back(shared);
      switch_ports_.push_back(std::move(ends[1]));
      transports_.push_back(std::make_unique<PortTransport>(
          std::move(ends[0]), shared.get(), pipeline::testing::kHostMac, kSwitchMac, 20'000, shared));
    }
  }
  void TearDown() override {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // The device between the rings; `lose` says which frames do not get through.
  void start_switch(double loss) {
    thread_ = std::thread([this, loss] {
      std::mt19937_64 random(11);
      const auto lost = [&] { return std::uniform_real_distribution<double>(0, 1)(random) < loss; };
      base::MonotonicClock clock;
      pipeline::Outbox out;
      pipeline::Pipe& pipe = rig_.device->pipe(0);
      while (!stopping_) {
        const int64_t now = clock.now_ns();
        for (unsigned rank = 0; rank < kWorld; ++rank) {
          base::Packet* packets[base::kBurst];
          const unsigned count = switch_ports_[rank]->rx_burst(packets, base::kBurst, now);
          for (unsigned i = 0; i < count; ++i) {
            packets[i]->port = static_cast<uint16_t>(1 + rank);
            if (lost())
              base::release(packets[i]);
            else
              pipe.process({&packets[i], 1}, now, out);
            deliver(out, now, lost);
          }
        }
        if (pipe.next_deadline_ns() <= now) pipe.tick(now, out);
        deliver(out, now, lost);
        std::this_thread::yield();
      }
    });
  }
  template <typename Lost>
  void deliver(pipeline::Outbox& out, int64_t now, Lost lost) {
    for (base::Packet* packet : out.packets()) {
      const unsigned rank = packet->port - 1u;
      base::Packet* copy = lost() ? nullptr : io::copy_packet(*packet, *pools_[rank]);
      base::release(packet);
      if (copy) switch_ports_[rank]->tx_burst({&copy, 1}, now);
    }
    out.clear();
  }
  JobConfig config(unsigned rank) const {
    StripeConfig s;
    s.job = rig_.c.job;
    s.epoch = rig_.c.epoch;
    s.child = static_cast<uint8_t>(rank);
    s.lanes = rig_.c.lanes;
    s.window = s.look_ahead = kRing / 2;
    s.first_number = rig_.c.first_number;
    s.slot_base = rig_.c.slot_base;
    s.ring = kRing;
    s.aggregator = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, s.child);
    s.result_source = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, wire::kChildSwitch);
    s.local_address = Rig::child_address(s.child);
    s.local_port = base::kUdpPort;
    return {"rings", kWorld, rank, 30'000'000'000, 0, {s}};
  }
  // Sums over both ranks, several times; closes.
  void run_jobs(int collectives) {
    std::vector<std::thread> ranks;
    for (unsigned rank = 0; rank < kWorld; ++rank)
      ranks.emplace_back([&, rank] {
        auto job = Job::create(config(rank), std::move(transports_[rank]));
        ASSERT_TRUE(job.ok()) << job.status();
        for (int round = 0; round < collectives; ++round) {
          std::vector<int32_t> x(20'000);
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * (rank + 1)) + round;
          Request request;
          request.input = request.output = x.data();
          request.count = x.size();
          request.type = kernels::ElementType::kInt32;
          const absl::Status done = (*job)->allreduce(request).wait();
          ASSERT_TRUE(done.ok()) << done;
          for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<int32_t>(i * 3) + 2 * round);
        }
        EXPECT_TRUE((*job)->close().ok());
      });
    for (std::thread& rank : ranks) rank.join();
  }

  static inline int number_ = 0;
  Rig rig_{rig_config()};
  std::vector<std::shared_ptr<io::MbufPool>> pools_;
  std::vector<std::unique_ptr<io::Port>> switch_ports_;
  std::vector<std::unique_ptr<PortTransport>> transports_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

TEST_F(PortTransportTest, sums_are_exact) {
  start_switch(0);
  run_jobs(5);
}

TEST_F(PortTransportTest, sums_are_exact_under_loss) {
  start_switch(0.01);
  run_jobs(3);
}

TEST_F(PortTransportTest, what_is_not_ours_is_counted_and_dropped) {
  PortTransport& transport = *transports_[0];
  const StripeConfig stripe = config(0).stripes[0];
  ASSERT_TRUE(transport.open({&stripe, 1}).ok());
  struct Receiver final : PacketReceiver {
    void on_packet(unsigned, const wire::L3dmlHeader&, const uint8_t*, size_t, unsigned, bool,
                   int64_t) override {
      ++count;
    }
    int count = 0;
  } receiver;
  const auto arrive = [&](auto change) {
    base::Packet* packet = pools_[0]->alloc();
    StripeConfig back = stripe;  // as the switch would send
    back.local_address = stripe.result_source, back.aggregator = stripe.local_address;
    wire::Head head = head_of(back, kSwitchMac, pipeline::testing::kHostMac);
    head.l3dml.job.set(stripe.job);
    packet->size = write_head(packet->data, head, 0, wire::kL3dmlSize);
    std::memcpy(packet->data + kBeforeDatagram, &head.l3dml, wire::kL3dmlSize);
    change(*packet, *reinterpret_cast<wire::Head*>(packet->data));
    switch_ports_[0]->tx_burst({&packet, 1}, 0);
    transport.receive(receiver, 0);
  };
  arrive([](base::Packet&, wire::Head&) {});
  EXPECT_EQ(receiver.count, 1);
  EXPECT_EQ(transport.strays(), 0u);
  arrive([](base::Packet& p, wire::Head&) { p.size = 60; });
  arrive([](base::Packet&, wire::Head& h) { h.ipv6.src_addr[15] ^= 1; });
  arrive([](base::Packet&, wire::Head& h) { h.ipv6.dst_addr[15] ^= 1; });
  arrive([](base::Packet&, wire::Head& h) { h.udp.dst_port.set(9); });
  arrive([](base::Packet&, wire::Head& h) { h.l3dml.job.set(999); });
  arrive([](base::Packet&, wire::Head& h) { h.udp.length.set(2000); });
  arrive([](base::Packet&, wire::Head& h) { h.ethernet.ether_type.set(wire::kEtherTypeIpv4); });
  EXPECT_EQ(receiver.count, 1);
  EXPECT_EQ(transport.strays(), 7u);
}

TEST(DpdkTransport, says_which_device_is_missing) {
  const auto transport = open_dpdk_transport({.device = "net_nonsense7", .eal = {}});
  ASSERT_FALSE(transport.ok());
  EXPECT_NE(std::string(transport.status().message()).find("net_nonsense7"), std::string::npos)
      << transport.status();
}

}  // namespace
}  // namespace l3dml::host
