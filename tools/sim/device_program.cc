#include "tools/sim/device_program.h"

#include <bit>
#include <stdexcept>

#include <fmt/format.h>

#include "dataplane/tna/bytes.h"
#include "tools/sim/addresses.h"

namespace l3dml::sim {
namespace {

using tna::to_bytes;

constexpr const char* kAdmission = "pipe.Ingress.admission.admission";
constexpr const char* kJob = "pipe.Ingress.job.job";
constexpr const char* kReplica = "pipe.Egress.replica.replica";
constexpr const char* kHost6 = "pipe.Ingress.forwarder.host6";
constexpr const char* kPrefix6 = "pipe.Ingress.forwarder.prefix6";

template <typename Array>
std::string bytes_of(const Array& array) {
  return {array.begin(), array.end()};
}
tna::MatchField exact(uint64_t value, unsigned bits) {
  return {tna::MatchKind::exact, true, to_bytes(value, bits), {}, 0};
}
tna::MatchField ternary(uint64_t value, unsigned bits, uint64_t mask) {
  return {tna::MatchKind::ternary, true, to_bytes(value & mask, bits), to_bytes(mask, bits), 0};
}
tna::MatchField any() { return {tna::MatchKind::ternary, false, {}, {}, 0}; }

wire::Ipv6Address prefix_of(uint32_t device, bool aggregation) {
  wire::Ipv6Address address = wire::host_address(kPrefix, locator(device), 0);
  if (aggregation) address[8] = static_cast<uint8_t>(wire::Function::aggregate);
  return address;
}

}  // namespace

void DeviceProgram::add(const std::string& table, tna::Entry entry, Handles* handles) {
  tna::TableTwin* twin = device_.table(table);
  if (!twin) throw std::logic_error("the device has no table " + table);
  const absl::Status status = twin->check(entry);
  if (!status.ok()) throw std::logic_error(fmt::format("{}: {}", table, std::string(status.message())));
  twin->insert(next_handle_, entry);
  handles->emplace_back(table, next_handle_++);
}

void DeviceProgram::start_up() {
  for (uint16_t port : network_.ports(index_)) device_.set_port(port, true, false);
  routes_changed();
}

void DeviceProgram::routes_changed() {
  for (const auto& [table, handle] : routes_) device_.table(table)->remove(handle);
  routes_.clear();
  const auto prefix = [&](const wire::Ipv6Address& address, int length, const char* action,
                          std::vector<std::string> params) {
    tna::Entry entry;
    entry.key = {{tna::MatchKind::lpm, true, bytes_of(address), {}, length}};
    entry.action = action;
    entry.params = std::move(params);
    add(kPrefix6, entry, &routes_);
  };
  prefix(prefix_of(index_, true), 72, "Ingress.forwarder.local", {});  // no job lives there: nobody
  for (uint32_t to = 0; to < network_.device_count(); ++to) {
    const Network::Hop* hop = network_.next_hop(index_, to);
    if (hop)
      prefix(prefix_of(to, false), 64, "Ingress.forwarder.forward",
             {to_bytes(hop->port, 9), bytes_of(device_mac(hop->next.node))});
  }
  for (uint32_t host = 0; host < network_.host_count(); ++host) {
    if (network_.host_device(host) != index_) continue;
    tna::Entry entry;
    entry.key = {{tna::MatchKind::exact, true, bytes_of(host_address(host, index_)), {}, 0}};
    entry.action = "Ingress.forwarder.forward";
    entry.params = {to_bytes(network_.host_port(host).port, 9), bytes_of(host_mac(host))};
    add(kHost6, entry, &routes_);
  }
}

std::optional<Network::Hop> DeviceProgram::towards(uint32_t device, const std::vector<uint32_t>& way,
                                                   bool up) const {
  if (!way.empty()) return network_.hop_over(index_, up ? way.front() : way.back());
  const Network::Hop* hop = network_.next_hop(index_, device);
  return hop ? std::optional(*hop) : std::nullopt;
}

void DeviceProgram::add_ways(uint32_t job, const Tree& tree) {
  const auto route = [&](const wire::Ipv6Address& address, uint32_t link) {
    const Network::Hop hop = network_.hop_over(index_, link);
    tna::Entry entry;
    entry.key = {{tna::MatchKind::exact, true, bytes_of(address), {}, 0}};
    entry.action = "Ingress.forwarder.forward";
    entry.params = {to_bytes(hop.port, 9), bytes_of(device_mac(hop.next.node))};
    add(kHost6, entry, &routes_);
  };
  for (const TreeAggregator& node : tree.aggregators) {
    for (size_t c = 0; c < node.children.size(); ++c) {
      const TreeChild& child = node.children[c];
      // From the parent back to the child: at each device on the way the cable before leads up, the one
      // behind leads down. A member gets its results by the network's own way.
      uint32_t at = node.device;
      for (size_t i = child.way.size(); i-- > 0;) {
        const uint32_t link = child.way[i];
        if (at == index_ && !child.member)
          route(aggregation_address(tree.aggregators[child.index].device, job, wire::kChildParent), link);
        at = network_.far_end(at, link);
        if (at == index_) route(aggregation_address(node.device, job, static_cast<uint16_t>(c)), link);
      }
    }
  }
}

// One entry per kind of packet that this neighbour may send us.
void DeviceProgram::admit(const AggregatorPart& part, const Sender& sender, bool from_child,
                          Handles* handles) {
  const JobResources& own = *part.own;
  const TreeAggregator& node = part.tree->aggregators[part.aggregator];
  const bool root = node.parent < 0;
  struct Kind {
    wire::Type type;
    bool down;  // flag
    bool slot;  // names a ring entry
  };
  static constexpr Kind kFromChild[] = {{wire::Type::up, false, true},
                                        {wire::Type::probe, false, true},
                                        {wire::Type::nack, true, false},
                                        {wire::Type::sync, false, false}};
  static constexpr Kind kFromParent[] = {
      {wire::Type::down, false, true}, {wire::Type::nack, false, false}, {wire::Type::sync, true, false}};
  uint16_t parent_port = 0;
  if (!root) {
    const TreeAggregator& parent = part.tree->aggregators[static_cast<size_t>(node.parent)];
    if (const auto hop = towards(parent.device, parent.children[node.child].way, true))
      parent_port = hop->port;
  }
  const std::span<const Kind> kinds =
      from_child ? std::span<const Kind>(kFromChild) : std::span<const Kind>(kFromParent);
  for (const Kind& kind : kinds) {
    tna::Entry entry;
    const uint64_t free_flags = wire::kFlagRetx | wire::kFlagEce;
    entry.key = {ternary(static_cast<uint64_t>(kind.type), 4, 15),
                 ternary(kind.down ? wire::kFlagDown : 0, 8, 0xff & ~free_flags),
                 ternary(job_number(part.job), 16, 0xffff),
                 ternary(part.epoch, 8, 0xff),
                 ternary(sender.child, 8, 0xff),
                 ternary(sender.locator, 16, 0xffff),
                 ternary(sender.host, 32, 0xffffffff),
                 kind.slot ? ternary(own.slot_base, 32, ~uint64_t{own.ring - 1} & 0xffffffff) : any(),
                 sender.port >= 0 ? ternary(static_cast<uint64_t>(sender.port), 9, 511) : any()};
    entry.priority = 1;
    entry.action = "Ingress.admission.admit";
    const uint32_t neighbor = own.neighbor_base + (from_child ? sender.child : kNeighborsPerJob - 1);
    entry.params = {to_bytes(from_child ? uint64_t{1} << sender.child : 0, 32),
                    to_bytes(node.children.size(), 16),
                    to_bytes(root ? 1 : 2, 8),
                    to_bytes(neighbor, 16),
                    to_bytes(sender.neighbor_port, 16),
                    to_bytes(root ? 0 : own.neighbor_base + kNeighborsPerJob - 1, 16),
                    to_bytes(parent_port, 16),
                    to_bytes(own.mgid, 16),
                    to_bytes(own.job_index, 16)};
    add(kAdmission, entry, handles);
  }
}

// Heads of what goes to a member (target: member) or to another aggregator (target: index into the tree).
void DeviceProgram::replicate(const AggregatorPart& part, uint32_t neighbor, bool to_member, uint32_t target,
                              Handles* handles, uint16_t* port) {
  const JobResources& own = *part.own;
  const TreeAggregator& node = part.tree->aggregators[part.aggregator];
  const bool to_parent = !to_member && static_cast<int>(target) == node.parent;
  const uint32_t device =
      to_member ? network_.host_device((*part.member_hosts)[target]) : part.tree->aggregators[target].device;
  wire::MacAddress dmac{};
  static const std::vector<uint32_t> kOwnWay;
  const std::vector<uint32_t>& way = to_member   ? kOwnWay
                                     : to_parent ? part.tree->aggregators[target].children[node.child].way
                                                 : node.children[part.tree->aggregators[target].child].way;
  if (const auto hop = towards(device, way, to_parent)) {
    *port = hop->port;
    dmac = device_mac(hop->next.node);
  } else if (to_member) {
    const uint32_t host = (*part.member_hosts)[target];
    *port = network_.host_port(host).port;
    dmac = host_mac(host);
  }
  const uint8_t child = to_parent   ? node.child
                        : to_member ? part.tree->places[target].child
                                    : part.tree->aggregators[target].child;
  const wire::Ipv6Address dst = to_member   ? host_address((*part.member_hosts)[target], device)
                                : to_parent ? aggregation_address(device, part.job, child)
                                            : aggregation_address(device, part.job, wire::kChildParent);
  const uint32_t slot_base = to_member ? 0 : (*part.resources)[device].slot_base;
  for (uint32_t shard = 0; shard < own.shards; ++shard) {
    const uint32_t ring = own.seq_base + ((neighbor - own.neighbor_base) * own.shards + shard) * own.seq_ring;
    tna::Entry entry;
    entry.key = {exact(neighbor, 16), exact(shard, 6)};
    entry.action = "Egress.replica.to_neighbor";
    entry.params = {bytes_of(dmac),
                    bytes_of(device_mac(index_)),
                    bytes_of(dst),
                    bytes_of(aggregation_address(index_, part.job, wire::kChildSwitch)),
                    to_bytes(source_port(part.job, child, shard), 16),
                    to_bytes(to_member ? (*part.member_ports)[target] : base::kUdpPort + shard, 16),
                    to_bytes(child, 8),
                    to_bytes(slot_base, 32),
                    to_bytes(own.ring - 1, 32),
                    to_bytes(static_cast<uint64_t>(std::countr_zero(own.shards)), 8),
                    to_bytes(ring, 32),
                    to_bytes(own.seq_ring - 1, 32)};
    add(kReplica, entry, handles);
  }
}

void DeviceProgram::install(const AggregatorPart& part) {
  const JobResources& own = *part.own;
  const TreeAggregator& node = part.tree->aggregators[part.aggregator];
  if (jobs_.size() <= part.job) jobs_.resize(part.job + 1), groups_.resize(part.job + 1);
  Handles& handles = jobs_[part.job];

  tna::Entry job;
  job.key = {exact(own.job_index, 16)};
  job.action = "Ingress.job.set_job";
  job.params = {to_bytes(own.lanes, 16), to_bytes(static_cast<uint64_t>(std::countr_zero(own.shards)), 8),
                to_bytes(own.slot_base, 32), to_bytes(own.ring - 1, 32)};
  add(kJob, job, &handles);

  // The aggregation addresses that this switch takes for itself.
  std::vector<uint16_t> here;
  for (size_t c = 0; c < node.children.size(); ++c) here.push_back(static_cast<uint16_t>(c));
  if (node.parent >= 0) here.push_back(wire::kChildParent);
  for (uint16_t child : here) {
    tna::Entry entry;
    entry.key = {
        {tna::MatchKind::exact, true, bytes_of(aggregation_address(index_, part.job, child)), {}, 0}};
    entry.action = "Ingress.forwarder.aggregate";
    add(kHost6, entry, &handles);
  }

  std::vector<tna::ReplicationTwin::Node> nodes;
  std::vector<uint16_t> ports;  // by child
  for (size_t c = 0; c < node.children.size(); ++c) {
    const TreeChild& child = node.children[c];
    const auto neighbor = static_cast<uint16_t>(own.neighbor_base + c);
    uint16_t port = 0;
    replicate(part, neighbor, child.member, child.index, &handles, &port);
    nodes.push_back({neighbor, false, 0, {port}});
    ports.push_back(port);
  }
  device_.replication()->set_group(own.mgid, std::move(nodes));
  groups_[part.job] = own.mgid;
  uint16_t parent_port = 0;
  if (node.parent >= 0)
    replicate(part, own.neighbor_base + kNeighborsPerJob - 1, false, static_cast<uint32_t>(node.parent),
              &handles, &parent_port);

  for (size_t c = 0; c < node.children.size(); ++c) {
    const TreeChild& child = node.children[c];
    Sender sender{0, 0, -1, static_cast<uint8_t>(c), ports[c]};
    if (child.member) {
      const uint32_t host = (*part.member_hosts)[child.index];
      const uint32_t device = network_.host_device(host);
      sender.locator = locator(device);
      sender.host = host + 1;
      if (device == index_) sender.port = network_.host_port(host).port;
    } else {
      sender.locator = locator(part.tree->aggregators[child.index].device);
      sender.host = uint32_t{wire::kChildSwitch} << 16;
    }
    admit(part, sender, true, &handles);
  }
  if (node.parent >= 0) {
    const uint32_t parent = part.tree->aggregators[static_cast<size_t>(node.parent)].device;
    admit(part, {locator(parent), uint32_t{wire::kChildSwitch} << 16, -1, node.child, parent_port}, false,
          &handles);
  }
}

void DeviceProgram::remove(uint32_t job) {
  if (job >= jobs_.size()) return;
  // Admission first: what is not admitted reaches nothing else.
  for (const char* table : {kAdmission, kHost6, kReplica, kJob}) {
    for (const auto& [name, handle] : jobs_[job]) {
      if (name == table) device_.table(name)->remove(handle);
    }
  }
  jobs_[job].clear();
  if (groups_[job]) device_.replication()->remove_group(groups_[job]);
  groups_[job] = 0;
}

void DeviceProgram::write_sequences(const JobResources& resources, uint32_t first, uint32_t count,
                                    uint32_t seq) {
  const uint32_t per_pipe = device_.config().shards_per_pipe;
  for (const char* name : {"pipe.Ingress.segment_receiver.expected", "pipe.Egress.segment_sender.tx_seq"}) {
    tna::RegisterTwin* array = device_.register_array(name);
    for (unsigned pipe = 0; pipe < device_.pipes(); ++pipe) {
      for (uint32_t i = 0; i < count * per_pipe; ++i)
        array->write(pipe, (resources.neighbor_base + first) * per_pipe + i, {seq, 0});
    }
  }
}

void DeviceProgram::write_stamps(const JobResources& resources, uint32_t stamp) {
  const uint32_t per_pipe = device_.config().shards_per_pipe;
  tna::RegisterTwin* array = device_.register_array("pipe.Ingress.slot_state.stamp");
  for (unsigned pipe = 0; pipe < device_.pipes(); ++pipe) {
    for (uint32_t i = 0; i < resources.ring * per_pipe; ++i)
      array->write(pipe, resources.slot_base * per_pipe + i, {stamp, 0});
  }
}

}  // namespace l3dml::sim
