// Drops that no golden case provokes, since they need a state of the switch rather than a packet: links that
// are down, neighbours that are silent, memory that is used up.
#include <gtest/gtest.h>

#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::pipeline::testing {
namespace {

using base::DropReason;
using wire::Type;

constexpr uint32_t kN = 1 << 20;  // RigConfig::first_number
constexpr uint32_t kHost4 = 0x0a000002, kSwitch4 = 0x0a000001;

void route4(Rig& rig, uint32_t address, bool local, const wire::MacAddress& next_hop = {}) {
  tna::Entry entry;
  entry.key = {Rig::exact(Rig::u(address, 32))};
  entry.action = local ? "Ingress.forwarder.local" : "Ingress.forwarder.forward";
  if (!local) entry.params = {Rig::u(2, 9), Rig::bytes(next_hop)};
  rig.insert(local ? "pipe.Ingress.forwarder.local4" : "pipe.Ingress.forwarder.host4", entry);
}

// An ICMP echo request over IPv4, 64 bytes.
Rig::Build ping4(uint32_t to) {
  Rig::Build b;
  b.frame.assign(64, 0);
  b.port = 1;
  const wire::EthernetHeader ethernet{kSwitchMac, kHostMac, base::be16_t(wire::kEtherTypeIpv4)};
  std::memcpy(b.frame.data(), &ethernet, sizeof ethernet);
  uint8_t* ip = b.frame.data() + wire::kEthernetSize;
  ip[0] = 0x45, ip[3] = 50, ip[8] = 64, ip[9] = 1;
  const base::be32_t source(0x0a000063), destination(to);
  std::memcpy(ip + 12, &source, 4);
  std::memcpy(ip + 16, &destination, 4);
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(ip[i] << 8 | ip[i + 1]);
  const auto checksum = static_cast<uint16_t>(~((sum & 0xffff) + (sum >> 16)));
  ip[10] = static_cast<uint8_t>(checksum >> 8), ip[11] = static_cast<uint8_t>(checksum);
  ip[20] = 8, ip[22] = 0xf7, ip[23] = 0xff;
  return b;
}

TEST(Drop, bad_ipv4_header_by_its_checksum) {
  Rig rig;
  route4(rig, kHost4, false, kHostMac);
  Rig::Build b = ping4(kHost4);
  EXPECT_EQ(rig.send(b).size(), 1u);
  b.frame[wire::kEthernetSize + 10] ^= 1;
  EXPECT_TRUE(rig.send(b).empty());
  EXPECT_EQ(rig.drops(DropReason::bad_ipv4_header), 1u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Drop, no_neighbor_while_the_next_hop_is_asked_for) {
  Rig rig;
  route4(rig, kSwitch4, true);  // an address to ask from
  route4(rig, kHost4, false);
  const auto sent = rig.send(ping4(kHost4));
  ASSERT_EQ(sent.size(), 1u);  // ARP's question in its place
  EXPECT_EQ(sent[0].head().ethernet.ether_type.load(), wire::kEtherTypeArp);
  EXPECT_EQ(rig.drops(DropReason::no_neighbor), 1u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Drop, policed_when_too_many_answers_are_asked_for_at_once) {
  Rig rig;
  route4(rig, kSwitch4, true);
  size_t answers = 0;
  for (int i = 0; i < 1000; ++i) answers += rig.send(ping4(kSwitch4)).size();
  EXPECT_GT(answers, 0u);
  EXPECT_EQ(answers + rig.drops(DropReason::policed), 1000u);
  EXPECT_GT(rig.drops(DropReason::policed), 500u);
  rig.now_ns += base::kSecond;
  EXPECT_EQ(rig.send(ping4(kSwitch4)).size(), 1u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Drop, port_down_for_results_and_for_what_is_forwarded) {
  Rig rig;
  route4(rig, kHost4, false, kHostMac);
  rig.device->set_port(2, false, false);
  EXPECT_TRUE(rig.send(ping4(kHost4)).empty());
  EXPECT_EQ(rig.drops(DropReason::port_down), 1u);
  rig.send(rig.up(0, kN, 1));
  const auto sent = rig.send(rig.up(1, kN, 2));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, 1);
  EXPECT_EQ(rig.drops(DropReason::port_down), 2u);
  // The result waits in its slot: the child asks for it when its link is back.
  rig.device->set_port(2, true, false);
  EXPECT_EQ(rig.send(rig.control(Type::probe, 0, 1, kN)).size(), 1u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Drop, unknown_replica_where_the_group_names_nobody_or_is_missing) {
  Rig rig;
  rig.device->replication()->set_group(1, {{500, false, 0, {1}}});
  rig.send(rig.up(0, kN, 1));
  EXPECT_TRUE(rig.send(rig.up(1, kN, 2)).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_replica), 1u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Drop, no_buffer_for_replicas_loses_no_sum) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  std::vector<base::Packet*> held;
  while (base::Packet* packet = rig.pool.alloc()) held.push_back(packet);
  base::release(held.back());  // for the packet that completes
  held.pop_back();
  EXPECT_TRUE(rig.send(rig.up(1, kN, 2)).empty());
  EXPECT_GT(rig.drops(DropReason::no_buffer), 0u);
  for (base::Packet* packet : held) base::release(packet);
  const auto sent = rig.send(rig.control(Type::probe, 0, 0, kN));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::down);
  EXPECT_EQ(sent[0].lane(0), 3u);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

}  // namespace
}  // namespace l3dml::pipeline::testing
