#include "dataplane/app/switch.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "dataplane/io/eal.h"
#include "dataplane/io/link_port.h"
#include "dataplane/io/memory_port.h"
#include "dataplane/io/shaped_port.h"

namespace l3dml::app {
namespace {

constexpr uint16_t kEthernet = 14, kVlan = 4;

// Packets that a link may hold, taking 512 bytes as a small average frame.
uint64_t packets_held(const io::LinkParameters& link) {
  const double flight_s =
      static_cast<double>(link.delay_ns + link.jitter_ns + link.reorder_delay_ns) / base::kSecond;
  const double flying = link.rate_bps != 0 ? static_cast<double>(link.rate_bps) / 8 * flight_s / 512 : 8192;
  const double waiting = link.rate_bps != 0 ? static_cast<double>(link.queue_limit_bytes()) / 512 : 0;
  return static_cast<uint64_t>(flying + waiting);
}

template <typename Function>
void for_each_link(const SwitchConfig& config, const Function& function) {
  for (const BetweenConfig& between : config.links) function(between.link);
  for (const DeviceConfig& device : config.devices)
    for (const PortConfig& port : device.ports)
      if (port.access) function(*port.access);
}

uint64_t buffers_needed(const SwitchConfig& config) {
  if (config.buffers != 0) return config.buffers;
  uint64_t count = 8192;
  for (const DeviceConfig& device : config.devices)
    for (const PortConfig& port : device.ports)
      if (port.kind == PortConfig::Kind::ethdev)
        count += port.ethdev.queues * (uint64_t{port.ethdev.rx_descriptors} + port.ethdev.tx_descriptors);
  for_each_link(config, [&](const LinkConfig& link) {
    for (const io::LinkParameters& way : link.parameters) count += packets_held(way);
  });
  return std::clamp<uint64_t>(count, 16384, 1 << 20);
}

unsigned workers_needed(const SwitchConfig& config) {
  if (config.workers != 0) return config.workers;
  unsigned count = 1;
  for (const DeviceConfig& device : config.devices) count = std::max(count, device.device.pipes);
  return count;
}

}  // namespace

void settle(Member& member, AttachedPort& port) {
  io::MacSettings mac = port.mac;
  if (!port.up()) mac.receive = mac.transmit = false;
  port.port->set(mac);
  member.device->set_port(port.device_port, port.up(), port.checksum);
}

Switch::Switch(const SwitchConfig& config)
    : config_(config), workers_(clock_, io::register_dpdk_thread, io::unregister_dpdk_thread) {}

Switch::~Switch() { stop(); }

absl::StatusOr<std::unique_ptr<Switch>> Switch::build(const SwitchConfig& config) {
  std::unique_ptr<Switch> result(new Switch(config));
  Switch& s = *result;
  if (auto status = s.make_pool(); !status.ok()) return status;
  const unsigned count = workers_needed(config);
  for (unsigned i = 0; i < count; ++i)
    s.workers_.add({.poll = config.poll,
                    .spin_ns = config.spin_ns,
                    .cpu = config.cpus.empty() ? -1 : static_cast<int>(config.cpus[i % config.cpus.size()])});
  for (const DeviceConfig& device : config.devices) {
    const std::vector<base::PacketPool*> pools(device.device.pipes, s.pool_.get());
    s.members_.push_back({.name = device.name,
                          .id = device.id,
                          .device = pipeline::Device::create(device.device, pools, &s.workers_),
                          .ports = {},
                          .trace = nullptr});
    if (auto status = s.make_ports(s.members_.size() - 1); !status.ok()) return status;
  }
  s.make_links();
  for (size_t i = 0; i < s.members_.size(); ++i) s.wire(i);
  for (size_t i = 0; i < s.members_.size(); ++i)
    for (const PortConfig& port : config.devices[i].ports)
      if (!port.capture.empty())
        if (auto status = s.start_capture(s.members_[i].name, port.device_ports[0], port.capture);
            !status.ok())
          return status;
  return result;
}

absl::Status Switch::make_pool() {
  io::MbufPool::Config pool{.count = static_cast<unsigned>(buffers_needed(config_))};
  for (const DeviceConfig& device : config_.devices)
    for (const PortConfig& port : device.ports) {
      pool.max_frame = std::max(pool.max_frame, port.tap.mtu + kEthernet + kVlan);
      if (port.kind == PortConfig::Kind::ethdev)
        pool.max_frame = std::max(pool.max_frame, af_packet_entry(port.tap.mtu));
    }
  if (auto status =
          io::start_eal({.arguments = config_.eal, .memory_bytes = io::MbufPool::memory_bytes(pool)});
      !status.ok())
    return status;
  auto made = io::MbufPool::create(pool);
  if (!made.ok()) return made.status();
  pool_ = *std::move(made);
  return absl::OkStatus();
}

size_t Switch::worker_of(size_t member, unsigned pipe) const {
  size_t index = pipe;
  for (size_t i = 0; i < member; ++i) index += config_.devices[i].device.pipes;
  return index % workers_.size();
}

absl::Status Switch::make_ports(size_t member) {
  for (const PortConfig& config : config_.devices[member].ports) {
    absl::Status status;
    if (config.kind == PortConfig::Kind::tap) status = make_tap(config, member);
    if (config.kind == PortConfig::Kind::ethdev) status = make_ethdev(config, member);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Switch::make_tap(const PortConfig& config, size_t member) {
  auto tap = io::TapPort::open(config.tap, *pool_);
  if (!tap.ok()) return tap.status();
  const size_t worker = worker_of(member, config.device_ports[0] >> 7);
  members_[member].ports.push_back({.device_port = config.device_ports[0],
                                    .name = config.name,
                                    .kind = "tap",
                                    .port = front(config, *std::move(tap), worker),
                                    .rx_worker = worker,
                                    .tx_worker = worker,
                                    .group = groups_++,
                                    .from_start = config.up,
                                    .checksum = config.tap.wants_checksum,
                                    .enabled = config.up,
                                    .capture = nullptr});
  return absl::OkStatus();
}

absl::Status Switch::make_ethdev(const PortConfig& config, size_t member) {
  auto queues = io::EthdevPort::open(config.ethdev, *pool_);
  if (!queues.ok()) return queues.status();
  if (queues->size() < config.device_ports.size())
    return absl::InvalidArgumentError(
        absl::StrCat("port ", config.name, ": \"", config.ethdev.device, "\" has ", queues->size(),
                     " queue(s), so it can serve that many device ports, not ", config.device_ports.size()));
  const size_t group = groups_++;
  PortConfig plain = config;  // the access line shapes the first queue
  plain.access.reset();
  for (size_t i = 0; i < config.device_ports.size(); ++i) {
    const uint16_t device_port = config.device_ports[i];
    const size_t worker = worker_of(member, device_port >> 7);
    std::unique_ptr<io::Port> port = std::move((*queues)[i]);
    members_[member].ports.push_back({.device_port = device_port,
                                      .name = config.name,
                                      .kind = "dpdk",
                                      .port = front(i == 0 ? config : plain, std::move(port), worker),
                                      .rx_worker = worker,
                                      .tx_worker = worker,
                                      .group = group,
                                      .from_start = config.up,
                                      .checksum = config.ethdev.wants_checksum,
                                      .enabled = config.up,
                                      .capture = nullptr});
  }
  return absl::OkStatus();
}

NamedLink& Switch::make_link(const LinkConfig& config, const std::string& from, const std::string& to) {
  auto link = std::make_unique<NamedLink>();
  link->name = config.name;
  link->ends[0] = from;
  link->ends[1] = to;
  const uint64_t seed = config.seed.value_or(config_.seed * 1'000'003 + seeds_++);
  for (uint64_t way = 0; way < 2; ++way)
    link->ways[way] = std::make_unique<io::Link>(config.parameters[way], 2 * seed + way);
  links_.push_back(std::move(link));
  return *links_.back();
}

// What the pipeline sees of a tap or NIC: its MAC, and the access line behind it if there is one.
std::unique_ptr<io::MacPort> Switch::front(const PortConfig& config, std::unique_ptr<io::Port> port,
                                           size_t worker) {
  io::Link* line = nullptr;
  if (config.access) {
    NamedLink& link = make_link(*config.access, "outside", config.name);
    port = std::make_unique<io::ShapedPort>(std::move(port), *link.ways[0], *link.ways[1]);
    line = link.ways[1].get();
  }
  return std::make_unique<io::MacPort>(std::move(port), line, workers_.worker(worker), true);
}

void Switch::make_links() {
  for (const BetweenConfig& between : config_.links) {
    std::string names[2];
    for (int i = 0; i < 2; ++i)
      names[i] = absl::StrCat(members_[between.ends[i].device].name, ":", between.ends[i].port);
    NamedLink& link = make_link(between.link, names[0], names[1]);
    for (int i = 0; i < 2; ++i) {
      const LinkEnd& here = between.ends[i];
      const LinkEnd& there = between.ends[1 - i];
      bool up = true;
      for (const PortConfig& port : config_.devices[here.device].ports)
        if (port.device_ports[0] == here.port) up = port.up;
      const size_t rx_worker = worker_of(here.device, here.port >> 7);
      const size_t tx_worker = worker_of(there.device, there.port >> 7);
      auto port = std::make_unique<io::LinkPort>(names[i], *link.ways[i], *link.ways[1 - i]);
      members_[here.device].ports.push_back(
          {.device_port = here.port,
           .name = names[i],
           .kind = "link",
           .port = std::make_unique<io::MacPort>(std::move(port), link.ways[i].get(),
                                                 workers_.worker(rx_worker), rx_worker == tx_worker),
           .rx_worker = rx_worker,
           .tx_worker = tx_worker,
           .group = groups_++,
           .from_start = up,
           .checksum = false,
           .enabled = up,
           .capture = nullptr});
    }
  }
}

// How packets get from one worker to another's port: once per pair.
io::Port* Switch::way_out(size_t member, size_t worker, AttachedPort& port) {
  if (port.tx_worker == worker) return port.port.get();
  for (AttachedPort& other : members_[member].ports)  // the same NIC by a queue of our own
    if (other.group == port.group && other.tx_worker == worker) return other.port.get();
  io::Port*& crossing = crossings_[{worker, port.port.get()}];
  if (crossing == nullptr) {
    inner_ports_.push_back(
        std::make_unique<io::Crossing>("to " + port.name, workers_.worker(port.tx_worker)));
    crossing = inner_ports_.back().get();
    workers_.worker(port.tx_worker).add(pipeline::Forward{crossing, port.port.get()});
  }
  return crossing;
}

io::Port* Switch::way_to_pipe(size_t worker, size_t to_worker, const std::string& name) {
  if (worker == to_worker)
    inner_ports_.push_back(std::make_unique<io::MemoryPort>(name, io::MemoryPort::Kind::loop));
  else
    inner_ports_.push_back(std::make_unique<io::Crossing>(name, workers_.worker(to_worker)));
  return inner_ports_.back().get();
}

void Switch::wire(size_t member) {
  Member& m = members_[member];
  const unsigned pipes = m.device->pipes();
  std::vector<pipeline::PipeWiring> wirings(pipes);
  for (unsigned pipe = 0; pipe < pipes; ++pipe) {
    const size_t worker = worker_of(member, pipe);
    pipeline::PipeWiring& wiring = wirings[pipe];
    wiring.pipe = &m.device->pipe(pipe);
    if (pipes > 1)
      wiring.steer = [device = m.device.get()](const base::Packet& packet) { return device->steer(packet); };
    for (AttachedPort& port : m.ports) {
      if (port.device_port >> 7 == pipe) wiring.inputs.push_back({port.port.get(), port.device_port});
      wiring.outputs[port.device_port] = way_out(member, worker, port);
    }
    for (unsigned to = 0; to < pipes; ++to) {  // recirculation ports lead back into the pipes
      const size_t to_worker = worker_of(member, to);
      io::Port* const way = way_to_pipe(worker, to_worker, absl::StrCat(m.name, " pipe ", pipe, " to ", to));
      wiring.outputs[base::kRecirculationPort + base::kPortsPerPipe * to] = way;
      if (to != pipe) wiring.to_pipes[to] = way;
      wirings[to].inputs.push_back({way, pipeline::PipeWiring::kKeepPort});
    }
  }
  for (unsigned pipe = 0; pipe < pipes; ++pipe) {
    workers_.worker(worker_of(member, pipe)).add(wirings[pipe]);
    m.device->set_port(static_cast<uint16_t>(base::kRecirculationPort + base::kPortsPerPipe * pipe), true,
                       false);
  }
  for (AttachedPort& port : m.ports) settle(m, port);
}

void Switch::start() {
  start_ns_ = clock_.now_ns();
  const auto set_traces = [&](const LinkConfig& config) {
    for (const auto& link : links_)
      if (link->name == config.name)
        for (int way = 0; way < 2; ++way) link->ways[way]->set_trace(config.traces[way], start_ns_);
  };
  for_each_link(config_, set_traces);
  workers_.start();
  running_ = true;
}

void Switch::stop() {
  workers_.stop();
  running_ = false;
  for (Member& member : members_) member.device->set_trace(nullptr, {});
}

}  // namespace l3dml::app
