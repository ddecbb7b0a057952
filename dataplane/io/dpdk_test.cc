// What touches DPDK: pool reference counts, packets through virtual devices. Runs without hugepages or
// privileges.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "dataplane/io/capture_file.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/ethdev_port.h"

namespace l3dml::io {
namespace {

class DpdkTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto status = start_eal({.memory_bytes = 32 << 20});
    if (!status.ok()) GTEST_SKIP() << status;
    static int number = 0;
    auto pool = MbufPool::create({.name = "test" + std::to_string(number++), .count = 2047, .cache = 0});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  void TearDown() override {
    if (pool_) {
      EXPECT_EQ(pool_->available(), 2047u) << "a buffer was lost";
    }
  }
  std::unique_ptr<EthdevPort> open(const std::string& device) {
    auto ports = EthdevPort::open({.name = "p", .device = device, .wants_checksum = true}, *pool_);
    EXPECT_TRUE(ports.ok()) << ports.status();
    return ports.ok() ? std::move(ports->front()) : nullptr;
  }
  base::Packet* make(std::string_view text, size_t size = 100) {
    base::Packet* packet = pool_->alloc();
    std::memset(packet->data, 0, size);
    std::memcpy(packet->data + 14, text.data(), text.size());
    packet->size = static_cast<uint32_t>(size);
    return packet;
  }
  std::unique_ptr<MbufPool> pool_;
};

TEST_F(DpdkTest, a_packet_lives_in_its_mbuf) {
  base::Packet* packet = pool_->alloc();
  EXPECT_EQ(packet->size, 0u);
  EXPECT_EQ(packet->data - packet->buffer, RTE_PKTMBUF_HEADROOM);
  EXPECT_GE(packet->capacity, 1514u + RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(pool_->available(), 2046u);
  base::release(packet);
}

TEST_F(DpdkTest, shared_tail_is_freed_by_the_last_chain) {
  base::Packet* tail = make("lanes", 64);
  tail->refs = 3;
  rte_mbuf* chains[3];
  for (rte_mbuf*& chain : chains) {
    base::Packet* head = make("head", 86);
    head->tail = tail;
    chain = MbufPool::surrender(head);
    EXPECT_EQ(chain->nb_segs, 2);
    EXPECT_EQ(chain->pkt_len, 150u);
  }
  EXPECT_EQ(rte_mbuf_refcnt_read(chains[0]->next), 3);
  rte_pktmbuf_free(chains[1]);
  rte_pktmbuf_free(chains[0]);
  EXPECT_EQ(pool_->available(), 2045u);
  rte_pktmbuf_free(chains[2]);
}

TEST_F(DpdkTest, tail_outlives_chains_while_a_head_is_still_ours) {
  base::Packet* tail = make("lanes", 64);
  tail->refs = 2;
  base::Packet* first = make("head", 86);
  base::Packet* second = make("head", 86);
  first->tail = second->tail = tail;
  rte_pktmbuf_free(MbufPool::surrender(first));
  EXPECT_EQ(std::memcmp(tail->data + 14, "lanes", 5), 0);
  EXPECT_EQ(pool_->available(), 2045u);
  base::release(second);
}

TEST_F(DpdkTest, empty_pool_says_so) {
  std::vector<base::Packet*> all;
  while (base::Packet* packet = pool_->alloc()) all.push_back(packet);
  EXPECT_EQ(all.size(), 2047u);
  for (base::Packet* packet : all) base::release(packet);
}

TEST_F(DpdkTest, ring_device_carries_chains_through) {
  auto port = open("net_ring0");  // what it sends, it receives
  ASSERT_NE(port, nullptr);
  base::Packet* packet = make("hello", 60);
  port->tx_burst({&packet, 1}, 0);
  base::Packet* got[8];
  ASSERT_EQ(port->rx_burst(got, 8, 0), 1u);
  EXPECT_EQ(std::memcmp(got[0]->data + 14, "hello", 5), 0);
  base::release(got[0]);
  EXPECT_EQ(port->stats().tx_bytes, 60u);
  EXPECT_EQ(port->stats().rx_bytes, 60u);
}

TEST_F(DpdkTest, linearises_for_devices_without_chains) {
  auto ports = EthdevPort::open({.name = "p", .device = "net_ring1", .allow_chains = false}, *pool_);
  ASSERT_TRUE(ports.ok()) << ports.status();
  EthdevPort* const port = ports->front().get();
  ASSERT_FALSE(port->device().multi_segment);
  base::Packet* tail = make("lanes", 40);
  tail->refs = 2;
  base::Packet* heads[2] = {make("head", 86), make("head", 86)};
  for (base::Packet* head : heads) head->tail = tail;
  port->tx_burst(heads, 0);
  base::Packet* got[8];
  ASSERT_EQ(port->rx_burst(got, 8, 0), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i]->size, 126u);
    EXPECT_EQ(std::memcmp(got[i]->data + 86 + 14, "lanes", 5), 0);
    base::release(got[i]);
  }
}

TEST_F(DpdkTest, full_device_queue_keeps_a_backlog_then_drops) {
  auto ports = EthdevPort::open({.name = "p", .device = "net_ring2", .tx_backlog = 8}, *pool_);
  ASSERT_TRUE(ports.ok());
  EthdevPort& port = *ports->front();
  unsigned sent = 0;
  for (; port.stats().tx_drops == 0 && sent < 2000; ++sent) {
    base::Packet* packet = make("x", 60);
    port.tx_burst({&packet, 1}, 0);
  }
  EXPECT_EQ(port.stats().tx_drops, 1u);
  unsigned received = 0;
  base::Packet* got[32];
  while (const unsigned count = port.rx_burst(got, 32, 0)) {
    received += count;
    for (unsigned i = 0; i < count; ++i) base::release(got[i]);
  }
  EXPECT_EQ(received, sent - 1);
}

TEST_F(DpdkTest, reads_and_writes_pcap_files) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "l3dml_pcap";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "out.pcap").string();
  {
    auto port = open("net_pcap0,tx_pcap=" + path);
    ASSERT_NE(port, nullptr);
    base::Packet* packet = make("golden", 70);
    port->tx_burst({&packet, 1}, 0);
  }
  auto port = open("net_pcap1,rx_pcap=" + path);
  ASSERT_NE(port, nullptr);
  base::Packet* got[4];
  ASSERT_EQ(port->rx_burst(got, 4, 0), 1u);
  EXPECT_EQ(got[0]->size, 70u);
  EXPECT_EQ(std::memcmp(got[0]->data + 14, "golden", 6), 0);
  base::release(got[0]);
  port.reset();
  std::filesystem::remove_all(folder);
}

TEST_F(DpdkTest, names_the_device_that_cannot_be_opened) {
  const auto ports = EthdevPort::open({.name = "paris/3", .device = "net_nothing0"}, *pool_);
  EXPECT_NE(ports.status().message().find("port paris/3: DPDK device \"net_nothing0\" cannot be opened"),
            std::string::npos)
      << ports.status();
}

TEST(Eal, user_arguments_win) {
  const auto has = [](const std::vector<std::string>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  const auto plain = eal_arguments({}, false);
  EXPECT_TRUE(has(plain, "--no-huge") && has(plain, "--no-pci") && has(plain, "-m"));
  const auto nic = eal_arguments({.arguments = {"-a", "0000:01:00.0", "--in-memory"}}, true);
  EXPECT_FALSE(has(nic, "--no-pci"));
  EXPECT_FALSE(has(nic, "--no-huge"));
  EXPECT_EQ(std::count(nic.begin(), nic.end(), "--in-memory"), 1);
}

}  // namespace
}  // namespace l3dml::io
