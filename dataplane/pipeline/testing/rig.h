// A device with one job on it, for tests: programs the tables through the twins as a driver would, builds
// packets, and hands back what leaves. One root or inner aggregator; children on ports 1, 2, ...; the parent
// on port 9.
#pragma once

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataplane/base/heap_pool.h"
#include "dataplane/base/limits.h"
#include "dataplane/pipeline/device.h"
#include "dataplane/tna/bytes.h"
#include "dataplane/wire/address.h"

namespace l3dml::pipeline::testing {

constexpr uint64_t kPrefix = 0xfd0000000001;
constexpr uint16_t kOwnLocator = 0x0101, kParentLocator = 0x0201;
constexpr wire::MacAddress kSwitchMac = {2, 0, 0, 0, 0, 1}, kHostMac = {2, 0, 0, 0, 0, 2};
constexpr uint16_t kParentPort = 9;

struct Sent {  // a packet that left, copied out
  uint16_t port;
  std::vector<uint8_t> frame;
  const wire::Head& head() const { return *reinterpret_cast<const wire::Head*>(frame.data()); }
  const wire::L3dmlHeader& l3dml() const { return head().l3dml; }
  size_t lane_count() const { return (frame.size() - wire::kHeadSize) / 4; }
  uint32_t lane(size_t i) const {
    base::be32_t v;
    std::memcpy(&v, frame.data() + wire::kHeadSize + 4 * i, 4);
    return v.load();
  }
};

struct RigConfig {
  unsigned children = 2;
  bool inner = false;
  uint16_t job = 7;
  uint8_t epoch = 3;
  uint16_t lanes = 64;
  uint32_t slot_base = 64, ring = 64;
  uint32_t first_number = 1 << 20;
  uint32_t seq_ring = 64;
  int64_t sync_idle_ns = 200 * base::kMicrosecond;
  uint32_t device_slots = 1024, device_lanes = 320, device_neighbors = 64;
};

class Rig {
 public:
  explicit Rig(const RigConfig& config = {}) : c(config) {
    DeviceConfig device_config;
    device_config.slots = c.device_slots;
    device_config.lanes = c.device_lanes;
    device_config.neighbors = c.device_neighbors;
    device_config.ring_entries = c.device_neighbors * c.seq_ring;
    device_config.mac = kSwitchMac;
    device_config.sync_idle_ns = c.sync_idle_ns;
    base::PacketPool* pools[] = {&pool};
    device = Device::create(device_config, pools, &executor);
    for (uint16_t port = 1; port <= 40; ++port) device->set_port(port, true, false);
    route_own_prefix();
    add_job(c.job, 1, c);
  }

  // --- programming
  // -------------------------------------------------------------------------------------------------
  static std::string u(uint64_t value, unsigned bits) { return tna::to_bytes(value, bits); }
  static std::string bytes(const auto& array) {
    return std::string(reinterpret_cast<const char*>(array.data()), array.size());
  }
  static tna::MatchField ternary(uint64_t value, uint64_t mask, unsigned bits) {
    tna::MatchField f;
    f.kind = tna::MatchKind::ternary;
    f.value = u(value & mask, bits), f.mask = u(mask, bits);
    return f;
  }
  static tna::MatchField exact(std::string value) {
    tna::MatchField f;
    f.value = std::move(value);
    return f;
  }
  tna::Handle insert(std::string_view table, tna::Entry entry) {
    tna::TableTwin* twin = device->table(table);
    const absl::Status status = twin->check(entry);
    if (!status.ok()) throw std::invalid_argument(std::string(status.message()));
    twin->insert(++handle_, entry);
    return handle_;
  }
  void route_own_prefix() {
    tna::Entry entry;
    tna::MatchField f;
    f.kind = tna::MatchKind::lpm, f.prefix_length = 72;
    f.value = bytes(wire::to_address({kPrefix, kOwnLocator, wire::Function::aggregate, 0, 0, 0, 0}));
    entry.key = {f};
    entry.action = "Ingress.forwarder.local";
    insert("pipe.Ingress.forwarder.prefix6", entry);
  }
  void aggregate_here(uint16_t job, uint16_t child) {
    tna::Entry entry;
    entry.key = {exact(bytes(wire::aggregation_address(kPrefix, kOwnLocator, 0, job, child)))};
    entry.action = "Ingress.forwarder.aggregate";
    insert("pipe.Ingress.forwarder.host6", entry);
  }
  static wire::Ipv6Address child_address(uint16_t child) {
    return wire::host_address(kPrefix, kOwnLocator, 100u + child);
  }
  static wire::Ipv6Address parent_address(uint16_t job) {
    return wire::aggregation_address(kPrefix, kParentLocator, 0, job, wire::kChildSwitch);
  }
  void add_job(uint16_t job, uint16_t job_index, const RigConfig& j) {
    tna::Entry constants;
    constants.key = {exact(u(job_index, 16))};
    constants.action = "Ingress.job.set_job";
    constants.params = {u(j.lanes, 16), u(0, 8), u(j.slot_base, 32), u(j.ring - 1, 32)};
    insert("pipe.Ingress.job.job", constants);
    for (unsigned child = 0; child < j.children; ++child) aggregate_here(job, static_cast<uint16_t>(child));
    if (j.inner) aggregate_here(job, wire::kChildParent);
    const uint16_t first_neighbor = static_cast<uint16_t>(job_index * 32);
    const auto neighbor = [&](unsigned child) { return static_cast<uint16_t>(first_neighbor + 1 + child); };
    std::vector<tna::ReplicationTwin::Node> nodes;
    for (unsigned child = 0; child < j.children; ++child) {
      for (const auto type : {wire::Type::up, wire::Type::probe})
        admit(job, job_index, j, child, type, 0, neighbor(child), true);
      admit(job, job_index, j, child, wire::Type::sync, 0, neighbor(child), false);
      admit(job, job_index, j, child, wire::Type::nack, wire::kFlagDown, neighbor(child), false);
      fallback(job, j.epoch, static_cast<int>(child), child_address(static_cast<uint16_t>(child)),
               base::DropReason::wrong_slot, 10);
      fallback(job, j.epoch, static_cast<int>(child), {}, base::DropReason::wrong_source, 20);
      replica(neighbor(child), child_address(static_cast<uint16_t>(child)), child, 0, j.ring - 1, j);
      nodes.push_back({neighbor(child), false, 0, {static_cast<uint16_t>(1 + child)}});
    }
    if (j.inner) {
      const uint16_t parent = first_neighbor;
      admit(job, job_index, j, kParent, wire::Type::down, 0, parent, true);
      admit(job, job_index, j, kParent, wire::Type::sync, wire::kFlagDown, parent, false);
      admit(job, job_index, j, kParent, wire::Type::nack, 0, parent, false);
      replica(parent, wire::aggregation_address(kPrefix, kParentLocator, 0, job, 5), 5, 256, 127, j);
    }
    fallback(job, j.epoch, -1, {}, base::DropReason::wrong_child, 30);
    fallback(job, -1, -1, {}, base::DropReason::wrong_epoch, 40);
    device->replication()->set_group(job_index, nodes);
  }

  // --- packets
  // ----------------------------------------------------------------------------------------------------- A
  // packet from child `child` (or from the parent: kParent). Change what you like, then send().
  struct Build {
    std::vector<uint8_t> frame;
    uint16_t port;
    wire::Head& head() { return *reinterpret_cast<wire::Head*>(frame.data()); }
    wire::L3dmlHeader& l3dml() { return head().l3dml; }
  };
  static constexpr unsigned kParent = 99;
  Build build(wire::Type type, unsigned child, uint32_t number, std::vector<uint32_t> lanes) {
    const bool parent = child == kParent;
    const uint16_t index = static_cast<uint16_t>(parent ? 5 : child);
    Build b;
    b.frame.resize(wire::kHeadSize + 4 * lanes.size());
    b.port = parent ? kParentPort : static_cast<uint16_t>(1 + child);
    wire::Head& head = b.head();
    head.ethernet = {kSwitchMac, kHostMac, base::be16_t(wire::kEtherTypeIpv6)};
    head.ipv6.version_class_flow.set(6u << 28);
    const auto length = static_cast<uint16_t>(b.frame.size() - wire::kEthernetSize - wire::kIpv6Size);
    head.ipv6.payload_length.set(length);
    head.ipv6.next_header = wire::kProtocolUdp;
    head.ipv6.hop_limit = 64;
    head.ipv6.src_addr = parent ? parent_address(c.job) : child_address(index);
    head.ipv6.dst_addr =
        wire::aggregation_address(kPrefix, kOwnLocator, 0, c.job, parent ? wire::kChildParent : index);
    head.udp.src_port.set(40000), head.udp.dst_port.set(base::kUdpPort), head.udp.length.set(length);
    wire::L3dmlHeader& h = head.l3dml;
    h.set_type(type);
    h.job.set(c.job), h.epoch = c.epoch, h.child = static_cast<uint8_t>(index);
    h.slot.set(c.slot_base + (number & (c.ring - 1)));
    h.number.set(number);
    h.exp = 130, h.next_exp = 128, h.weight.set(1);
    const bool numbered = type == wire::Type::up || type == wire::Type::down;
    h.seq.set(numbered ? seq_[child]++ : 0);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const base::be32_t v(lanes[i]);
      std::memcpy(b.frame.data() + wire::kHeadSize + 4 * i, &v, 4);
    }
    return b;
  }
  Build up(unsigned child, uint32_t number, uint32_t value) {
    return build(wire::Type::up, child, number, std::vector<uint32_t>(c.lanes, value));
  }
  Build down(uint32_t number, uint32_t value) {
    return build(wire::Type::down, kParent, number, std::vector<uint32_t>(c.lanes, value));
  }
  Build control(wire::Type type, uint8_t flags, unsigned child, uint32_t number) {
    Build b = build(type, child, number, {});
    b.l3dml().flags = flags;
    return b;
  }

  std::vector<Sent> send(const Build& b) {
    base::Packet* packet = pool.alloc();
    std::memcpy(packet->data, b.frame.data(), b.frame.size());
    packet->size = static_cast<uint32_t>(b.frame.size());
    packet->port = b.port;
    device->pipe(0).process({&packet, 1}, now_ns, out_);
    return take();
  }
  std::vector<Sent> tick(int64_t at_ns) {
    now_ns = at_ns;
    device->pipe(0).tick(now_ns, out_);
    return take();
  }
  uint64_t drops(base::DropReason reason) const { return device->drops(reason); }

  const RigConfig c;
  base::HeapPool pool{4096};
  InlineExecutor executor;
  std::unique_ptr<Device> device;
  int64_t now_ns = 0;

 private:
  std::vector<Sent> take() {
    std::vector<Sent> sent;
    for (base::Packet* packet : out_.packets()) {
      Sent s;
      s.port = packet->port;
      s.frame.assign(packet->data, packet->data + packet->size);
      if (packet->tail)
        s.frame.insert(s.frame.end(), packet->tail->data, packet->tail->data + packet->tail->size);
      sent.push_back(std::move(s));
      base::release(packet);
    }
    out_.clear();
    return sent;
  }
  void admit(uint16_t job, uint16_t job_index, const RigConfig& j, unsigned child, wire::Type type,
             uint8_t down, uint16_t neighbor, bool slots) {
    const bool parent = child == kParent;
    const wire::Ipv6Address src = parent ? parent_address(job) : child_address(static_cast<uint16_t>(child));
    tna::Entry entry;
    entry.key = {
        ternary(static_cast<uint8_t>(type), 15, 4),
        ternary(down, wire::kFlagDown, 8),
        ternary(job, 0xffff, 16),
        ternary(j.epoch, 0xff, 8),
        ternary(parent ? 5 : child, 0xff, 8),
        ternary(wire::address_word(src, 3), 0xffff, 16),
        ternary(uint64_t{wire::address_word(src, 6)} << 16 | wire::address_word(src, 7), 0xffffffff, 32),
        ternary(j.slot_base, slots ? ~(j.ring - 1) : 0, 32),
        ternary(parent ? 0 : 1 + child, parent ? 0 : 0x1ff, 9)};
    entry.action = "Ingress.admission.admit";
    entry.params = {u(parent ? 0 : 1u << child, 32),
                    u(j.children, 16),
                    u(j.inner ? 2 : 1, 8),
                    u(neighbor, 16),
                    u(parent ? kParentPort : 1 + child, 9),
                    u(job_index * 32, 16),
                    u(kParentPort, 9),
                    u(job_index, 16),
                    u(job_index, 16)};
    insert("pipe.Ingress.admission.admission", entry);
  }
  void fallback(uint16_t job, int epoch, int child, wire::Ipv6Address src, base::DropReason reason,
                uint32_t priority) {
    const bool source = src != wire::Ipv6Address{};
    tna::Entry entry;
    entry.key = {ternary(0, 0, 4),
                 ternary(0, 0, 8),
                 ternary(job, 0xffff, 16),
                 ternary(static_cast<uint64_t>(epoch), epoch < 0 ? 0 : 0xff, 8),
                 ternary(static_cast<uint64_t>(child), child < 0 ? 0 : 0xff, 8),
                 ternary(wire::address_word(src, 3), source ? 0xffff : 0, 16),
                 ternary(uint64_t{wire::address_word(src, 6)} << 16 | wire::address_word(src, 7),
                         source ? 0xffffffff : 0, 32),
                 ternary(0, 0, 32),
                 ternary(0, 0, 9)};
    if (source) entry.key[8] = ternary(static_cast<uint64_t>(1 + child), 0x1ff, 9);
    entry.priority = priority;
    entry.action = "Ingress.admission.reject";
    entry.params = {u(static_cast<uint8_t>(reason), 8)};
    insert("pipe.Ingress.admission.admission", entry);
  }
  void replica(uint16_t neighbor, const wire::Ipv6Address& dst, unsigned child, uint32_t slot_base,
               uint32_t slot_mask, const RigConfig& j) {
    tna::Entry entry;
    entry.key = {exact(u(neighbor, 16)), exact(u(0, 6))};
    entry.action = "Egress.replica.to_neighbor";
    entry.params = {bytes(kHostMac),
                    bytes(kSwitchMac),
                    bytes(dst),
                    bytes(wire::aggregation_address(kPrefix, kOwnLocator, 0, j.job, wire::kChildSwitch)),
                    u(49152, 16),
                    u(base::kUdpPort, 16),
                    u(child, 8),
                    u(slot_base, 32),
                    u(slot_mask, 32),
                    u(0, 8),
                    u(neighbor * j.seq_ring, 32),
                    u(j.seq_ring - 1, 32)};
    insert("pipe.Egress.replica.replica", entry);
  }

  Outbox out_;
  tna::Handle handle_ = 0;
  std::map<unsigned, uint32_t> seq_;  // next sequence number of each sender
};

}  // namespace l3dml::pipeline::testing
