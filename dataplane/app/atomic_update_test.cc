// A table update is never seen half-done: a client rewrites, over a socket, entries whose values must agree,
// while a worker forwards packets by them as fast as it can. Two things must agree: the two parameters of one
// entry (port and address), and two entries written by one request (packets to both are in every burst, and a
// burst sees one request).
#include <atomic>
#include <cstring>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/pipeline/worker_group.h"
#include "dataplane/server/server.h"
#include "dataplane/server/testing/client.h"
#include "dataplane/wire/address.h"
#include "dataplane/wire/header.h"

namespace l3dml {
namespace {

constexpr wire::MacAddress kSwitchMac = {2, 0, 0, 0, 0, 1};
constexpr uint64_t kHostMac = 0x020000000100;  // plus the port behind which it is
constexpr uint16_t kPorts[] = {1, 2};

// The bytes of the two destinations.
wire::Ipv6Address destination(unsigned which) {
  return wire::host_address(0xfd0000000001, 0x0202, 10 + which);
}
std::string bytes_of(const wire::Ipv6Address& address) {
  return std::string(reinterpret_cast<const char*>(address.data()), address.size());
}

// Never runs dry: packets to the two destinations in turn. The flow label says which burst a packet belongs
// to.
class Source final : public io::Port {
 public:
  explicit Source(base::PacketPool& pool) : Port("source"), pool_(pool) {}
  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t) override {
    unsigned count = 0;
    for (; count < room; ++count) {
      base::Packet* const packet = pool_.alloc();
      if (packet == nullptr) break;
      packet->size = wire::kEthernetSize + wire::kIpv6Size + 8;
      std::memset(packet->data, 0, packet->size);
      auto& head = *reinterpret_cast<wire::Head*>(packet->data);
      head.ethernet = {kSwitchMac, {2, 0, 0, 0, 0, 9}, base::be16_t(wire::kEtherTypeIpv6)};
      head.ipv6.version_class_flow.set(6u << 28 | (burst_ & 0xfffff));
      head.ipv6.payload_length.set(8);
      head.ipv6.next_header = wire::kProtocolUdp;
      head.ipv6.hop_limit = 64;
      head.ipv6.src_addr = wire::host_address(0xfd0000000001, 0x0101, 1);
      head.ipv6.dst_addr = destination(count % 2);
      head.udp.length.set(8);
      packets[count] = packet;
    }
    ++burst_;
    made += count;
    return count;
  }
  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    for (base::Packet* packet : packets) base::release(packet);
  }
  io::PortStats stats() const override { return {}; }
  int64_t next_deadline_ns() const override { return 0; }
  bool needs_wake_fd() const override { return false; }
  std::atomic<uint64_t> made = 0;

 private:
  base::PacketPool& pool_;
  uint32_t burst_ = 0;
};

// What the sinks of all ports saw; filled by the worker alone.
struct Seen {
  uint32_t burst = UINT32_MAX;
  uint16_t port = 0;
  std::atomic<uint64_t> packets = 0, at_port[3] = {}, torn_entry = 0, torn_request = 0;
};

class Sink final : public io::Port {
 public:
  Sink(uint16_t port, Seen& seen) : Port("sink"), port_(port), seen_(seen) {}
  unsigned rx_burst(base::Packet**, unsigned, int64_t) override { return 0; }
  void tx_burst(std::span<base::Packet* const> packets, int64_t) override {
    for (base::Packet* packet : packets) {
      const auto& head = *reinterpret_cast<const wire::Head*>(packet->data);
      uint64_t mac = 0;
      for (uint8_t byte : head.ethernet.dst_addr) mac = mac << 8 | byte;
      if (mac != kHostMac + port_) ++seen_.torn_entry;
      const uint32_t burst = head.ipv6.version_class_flow.load() & 0xfffff;
      if (burst == seen_.burst && seen_.port != port_) ++seen_.torn_request;
      seen_.burst = burst;
      seen_.port = port_;
      ++seen_.packets;
      ++seen_.at_port[port_];
      base::release(packet);
    }
  }
  io::PortStats stats() const override { return {}; }
  bool needs_wake_fd() const override { return false; }

 private:
  const uint16_t port_;
  Seen& seen_;
};

// A switch that forwards as fast as it can, and a client that tells it where to.
class AtomicUpdate : public ::testing::Test {
 protected:
  using Update = bfrt_proto::Update;

  void SetUp() override {
    pipeline::DeviceConfig config;
    config.slots = 1024;
    config.neighbors = 64;
    config.ring_entries = 4096;
    config.mac = kSwitchMac;
    base::PacketPool* pools[] = {&pool_};
    device_ = pipeline::Device::create(config, pools, &workers_);
    pipeline::PipeWiring wiring;
    wiring.pipe = &device_->pipe(0);
    wiring.inputs.push_back({&source_, 3});
    wiring.outputs[1] = &first_;
    wiring.outputs[2] = &second_;
    for (uint16_t port = 1; port <= 3; ++port) device_->set_port(port, true, false);
    workers_.add({.poll = true}).add(wiring);

    auto driver = server::Driver::create({.program_name = "l3dml",
                                          .program_json = server::testing::file_text(L3DML_PROGRAM_JSON),
                                          .twin = device_.get()});
    ASSERT_TRUE(driver.ok()) << driver.status();
    ASSERT_TRUE(bfrt_.add_device(*std::move(driver)).ok());
    ASSERT_TRUE(bfrt_.start("127.0.0.1:0").ok());
    const auto served = bfrt_.driver(0);
    client_ = std::make_unique<server::testing::Client>("127.0.0.1:" + std::to_string(bfrt_.port()),
                                                        served->program(), served->fixed());
    ASSERT_TRUE(client_->subscribe().ok());
    ASSERT_TRUE(client_->bind("l3dml").ok());
    ASSERT_TRUE(client_->write(to_both(Update::INSERT, 1)).ok());
    workers_.start();
  }
  void TearDown() override {
    workers_.stop();
    EXPECT_EQ(seen_.packets, source_.made) << "no packet is lost to an update";
  }

  Update route(Update::Type type, unsigned which, uint16_t port, uint64_t mac) {
    const server::testing::KeyPart key{.field = "hdr.ipv6.dst_addr", .text = bytes_of(destination(which))};
    return client_->update(
        type, client_->entry("forwarder.host6", {key}, "forward", {{"port", uint64_t{port}}, {"dmac", mac}}));
  }
  std::vector<Update> to_both(Update::Type type, uint16_t port) {
    return {route(type, 0, port, kHostMac + port), route(type, 1, port, kHostMac + port)};
  }
  void write(const std::vector<Update>& updates) {
    const auto result = client_->write(updates);
    ASSERT_TRUE(result.ok()) << result.status.error_message();
  }

  base::HeapPool pool_{4096};
  base::MonotonicClock clock_;
  pipeline::WorkerGroup workers_{clock_};
  std::unique_ptr<pipeline::Device> device_;
  Source source_{pool_};
  Seen seen_;
  Sink first_{kPorts[0], seen_}, second_{kPorts[1], seen_};
  server::BfrtServer bfrt_;
  std::unique_ptr<server::testing::Client> client_;
};

TEST_F(AtomicUpdate, no_packet_sees_half_of_an_entry_or_of_a_request) {
  constexpr int kRequests = 400;
  for (int i = 0; i < kRequests; ++i) write(to_both(Update::MODIFY, kPorts[(i + 1) % 2]));
  workers_.stop();
  EXPECT_EQ(seen_.torn_entry, 0u);
  EXPECT_EQ(seen_.torn_request, 0u);
  EXPECT_GT(seen_.at_port[1], 0u);
  EXPECT_GT(seen_.at_port[2], 0u);
}

// What the test above would see of a switch that took a request apart: the same changes, an update a request.
TEST_F(AtomicUpdate, packets_do_see_what_lies_between_two_requests) {
  constexpr int kAtMost = 20'000;
  for (int i = 0; i < kAtMost && seen_.torn_request == 0; ++i)
    for (unsigned which : {0u, 1u}) {
      const uint16_t port = kPorts[(i + 1) % 2];
      write({route(Update::MODIFY, which, port, kHostMac + port)});
    }
  EXPECT_GT(seen_.torn_request, 0u);
  EXPECT_EQ(seen_.torn_entry, 0u);
}

// And of one that gave a packet the port of one entry and the address of another.
TEST_F(AtomicUpdate, an_address_that_is_not_the_ports_is_seen) {
  constexpr int kAtMost = 20'000;
  for (int i = 0; i < kAtMost && seen_.torn_entry == 0; ++i)
    write({route(Update::MODIFY, 0, 1, kHostMac + 2)});
  EXPECT_GT(seen_.torn_entry, 0u);
}

}  // namespace
}  // namespace l3dml
