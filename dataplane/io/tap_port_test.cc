// The tap against the kernel's own stack, in a network namespace that ends with the process. Needs root; else
// skipped.
#include "dataplane/io/tap_port.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/io/checksum.h"

namespace l3dml::io {
namespace {

constexpr uint16_t kPort = 7001;
constexpr int kUdpSegment = 103;

class TapPortTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs root";
    auto tap =
        TapPort::open({.name = "t", .interface = "l3iotest", .netns = "", .mac = "02:00:00:00:00:02"}, pool_);
    ASSERT_TRUE(tap.ok()) << tap.status();
    tap_ = *std::move(tap);
    ASSERT_EQ(
        std::system(
            "sysctl -qw net.ipv6.conf.l3iotest.accept_dad=0 && ip addr add fd00::2/64 dev l3iotest nodad && "
            "ip neigh add fd00::1 lladdr 02:00:00:00:00:01 dev l3iotest"),
        0);
    socket_ = socket(AF_INET6, SOCK_DGRAM, 0);
    const timeval timeout = {.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    sockaddr_in6 own = address("fd00::2");
    ASSERT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  }
  void TearDown() override {
    if (socket_ >= 0) close(socket_);
    tap_.reset();
    EXPECT_EQ(pool_.alive(), 0u);
  }
  static sockaddr_in6 address(const char* text) {
    sockaddr_in6 result{};
    result.sin6_family = AF_INET6;
    result.sin6_port = htons(kPort);
    inet_pton(AF_INET6, text, &result.sin6_addr);
    return result;
  }
  // UDP from fd00::1 to fd00::2; the last `shared` payload bytes in a tail.
  base::Packet* datagram(size_t payload, uint8_t fill, size_t shared = 0) {
    base::Packet* packet = pool_.alloc();
    uint8_t* const b = packet->data;
    std::memset(b, 0, 62);
    const uint8_t macs[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60};
    std::memcpy(b, macs, sizeof macs);
    b[20] = 17;
    b[21] = 64;
    b[22] = b[38] = 0xfd;
    b[37] = 1;
    b[53] = 2;
    const size_t udp = 8 + payload;
    b[18] = b[58] = static_cast<uint8_t>(udp >> 8);
    b[19] = b[59] = static_cast<uint8_t>(udp);
    b[54] = b[56] = kPort >> 8;
    b[55] = b[57] = kPort & 255;
    std::memset(b + 62, fill, payload - shared);
    packet->size = static_cast<uint32_t>(62 + payload - shared);
    packet->wants_checksum = true;
    if (shared != 0) {
      packet->tail = pool_.alloc();
      std::memset(packet->tail->data, fill, shared);
      packet->tail->size = static_cast<uint32_t>(shared);
    }
    return packet;
  }
  std::string receive() {
    char bytes[4096];
    const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
    return count < 0 ? "nothing" : std::string(bytes, static_cast<size_t>(count));
  }

  base::HeapPool pool_{256};
  std::unique_ptr<TapPort> tap_;
  int socket_ = -1;
};

TEST_F(TapPortTest, the_host_believes_our_checksums) {
  base::Packet* packet = datagram(500, 'a');
  tap_->tx_burst({&packet, 1}, 0);
  EXPECT_EQ(receive(), std::string(500, 'a'));
}

TEST_F(TapPortTest, a_burst_of_one_flow_arrives_as_single_datagrams_in_order) {
  std::vector<base::Packet*> burst;
  for (uint8_t i = 0; i < 20; ++i)
    burst.push_back(datagram(1048, static_cast<uint8_t>('a' + i), i % 2 ? 1000 : 0));
  burst.push_back(datagram(300, 'z'));  // another size: not of the run
  tap_->tx_burst(burst, 0);
  for (uint8_t i = 0; i < 20; ++i) EXPECT_EQ(receive(), std::string(1048, static_cast<char>('a' + i)));
  EXPECT_EQ(receive(), std::string(300, 'z'));
  EXPECT_EQ(tap_->stats().tx_packets, 21u);
  EXPECT_EQ(tap_->stats().tx_bytes, 20u * 1110 + 362);
  EXPECT_EQ(tap_->stats().tx_errors, 0u);
}

TEST_F(TapPortTest, takes_segments_of_the_host_as_packets_with_checksums) {
  const sockaddr_in6 other = address("fd00::1");
  const int size = 1000;
  ASSERT_EQ(setsockopt(socket_, IPPROTO_UDP, kUdpSegment, &size, sizeof size), 0);
  std::string data;
  for (char c : std::string("abcde")) data += std::string(1000, c);
  data += "rest";
  ASSERT_EQ(
      sendto(socket_, data.data(), data.size(), 0, reinterpret_cast<const sockaddr*>(&other), sizeof other),
      static_cast<ssize_t>(data.size()));
  std::string got;
  base::Packet* packets[4];
  tap_->wake();
  unsigned udp = 0;
  while (const unsigned count = tap_->rx_burst(packets, 4, 0))
    for (unsigned i = 0; i < count; ++i) {
      const base::Packet& p = *packets[i];
      if (p.size >= 62 && p.data[20] == 17) {  // the kernel talks of other things as well
        ++udp;
        const uint32_t sum =
            uint32_t{ones_sum(p.data + 22, 32)} + p.size - 54 + 17 + ones_sum(p.data + 54, p.size - 54);
        EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
        got.append(reinterpret_cast<const char*>(p.data) + 62, p.size - 62);
      }
      base::release(packets[i]);
    }
  EXPECT_EQ(udp, 6u);
  EXPECT_TRUE(got == data);
}

TEST_F(TapPortTest, is_down_when_the_interface_is_gone) {
  ASSERT_EQ(std::system("ip link del l3iotest"), 0);
  base::Packet* packets[4];
  tap_->wake();
  while (const unsigned count = tap_->rx_burst(packets, 4, 0))
    for (unsigned i = 0; i < count; ++i) base::release(packets[i]);
  EXPECT_FALSE(tap_->link_up());
  EXPECT_EQ(tap_->wake_fd(), -1);
  base::Packet* packet = datagram(10, 'a');
  tap_->tx_burst({&packet, 1}, 0);
  EXPECT_EQ(tap_->stats().tx_errors, 1u);
}

TEST(TapOpen, says_what_is_wrong) {
  base::HeapPool pool(1);
  EXPECT_EQ(
      TapPort::open({.name = "paris:0", .interface = "a-name-that-is-too-long"}, pool).status().message(),
      "port paris:0: \"a-name-that-is-too-long\" is no interface name (1 to 15 characters)");
  EXPECT_EQ(
      TapPort::open({.name = "paris:0", .interface = "x", .netns = "no-such-netns"}, pool).status().message(),
      "port paris:0: tap x: cannot enter network namespace no-such-netns: No such file or directory");
}

}  // namespace
}  // namespace l3dml::io
