// The generator through real DPDK ports: two devices whose queues are the ends of two rings, a device of the
// data plane between them. No hugepages, no privilege, virtual time.
#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "dataplane/io/copy.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/ethdev_port.h"
#include "tools/gen/open_loop.h"
#include "tools/gen/testing/tested_switch.h"
#include "tools/gen/windowed.h"

namespace l3dml::gen {
namespace {

using base::kMicrosecond;
using base::kMillisecond;

class RingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto status = io::start_eal({.arguments = {}, .memory_bytes = 64 << 20});
    if (!status.ok()) GTEST_SKIP() << status;
    static int number = 0;
    const std::string tag = std::to_string(number++);
    auto pool = io::MbufPool::create({.name = "gen" + tag, .count = 8191, .cache = 0});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    rte_ring* rings[2];
    for (int i = 0; i < 2; ++i)
      ASSERT_NE(rings[i] = rte_ring_create(("r" + tag + std::to_string(i)).c_str(), 4096, SOCKET_ID_ANY, 0),
                nullptr);
    for (int i = 0; i < 2; ++i) {
      const std::string name = "end" + tag + std::to_string(i);
      ASSERT_GE(rte_eth_from_rings(name.c_str(), &rings[i], 1, &rings[1 - i], 1, 0), 0);
      auto ports = io::EthdevPort::open({.name = name, .device = "net_ring_" + name}, *pool_);
      ASSERT_TRUE(ports.ok()) << ports.status();
      ends_.push_back(std::move(ports->front()));
    }
  }

  // One port for all workers: what the device gets is told apart by who sent it.
  std::vector<JobTraffic> behind_one_port(std::vector<JobTraffic> jobs) {
    for (JobTraffic& job : jobs)
      for (Member& member : job.members) member.port = 0;
    return jobs;
  }
  // The other end: hands frames to the tested device by its memory ports, and brings back what leaves.
  void pump(testing::TestedSwitch& tested) {
    base::Packet* packets[base::kBurst];
    while (const unsigned count = ends_[1]->rx_burst(packets, base::kBurst, tested.now_ns)) {
      for (unsigned i = 0; i < count; ++i) {
        const unsigned child = packets[i]->data[wire::kHeadSize - wire::kL3dmlSize + 5] % 4;
        tested.ports().ports[child]->tx_burst({&packets[i], 1}, tested.now_ns);
      }
    }
    tested.pump(tested.now_ns);
    for (io::Port* port : tested.ports().ports)
      while (const unsigned count = port->rx_burst(packets, base::kBurst, tested.now_ns))
        for (unsigned i = 0; i < count; ++i) {
          base::Packet* copy = io::copy_packet(*packets[i], *pool_);
          base::release(packets[i]);
          if (copy) ends_[1]->tx_burst({&copy, 1}, tested.now_ns);
        }
  }
  template <typename Engine>
  bool run(Engine& engine, testing::TestedSwitch& tested) {
    for (int i = 0; i < 1'000'000; ++i, tested.now_ns += 10 * kMicrosecond) {
      if (!engine.step(tested.now_ns)) return true;
      pump(tested);
    }
    return false;
  }

  std::unique_ptr<io::MbufPool> pool_;
  std::vector<std::unique_ptr<io::EthdevPort>> ends_;
};

TEST_F(RingTest, open_loop) {
  testing::TestedSwitch tested(4, {{256}});
  OpenLoop loop(behind_one_port(tested.traffic()), {{ends_[0].get()}, pool_.get()},
                {.floods = {{Bad::unknown_job, 0.5}}});
  loop.begin({200'000, 10 * kMillisecond, kMillisecond}, tested.now_ns);
  ASSERT_TRUE(run(loop, tested));
  const TrialResult r = loop.finish();
  EXPECT_TRUE(r.passed()) << r.lost << " lost " << r.first_wrong;
  EXPECT_EQ(r.received, 2000u);
  EXPECT_EQ(r.port_drops, 0u);
}

TEST_F(RingTest, closed_loop) {
  testing::TestedSwitch tested(4, {{64}});
  WindowedOptions o;
  o.duration_ns = kMillisecond;
  o.chunks = 200;
  Windowed engine(behind_one_port(tested.traffic()), {{ends_[0].get()}, pool_.get()}, o);
  engine.begin(tested.now_ns);
  ASSERT_TRUE(run(engine, tested));
  const WindowedResult r = engine.finish(tested.now_ns);
  EXPECT_EQ(r.wrong, 0u) << r.first_wrong;
  EXPECT_EQ(r.chunks, r.collectives * 200);
  EXPECT_GT(r.collectives, 0u);
}

}  // namespace
}  // namespace l3dml::gen
