#include "tools/sim/network.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/base/limits.h"

namespace l3dml::sim {
namespace {

constexpr double kUnreachable = 1e9;
constexpr size_t kMostPackets = 4'000'000;  // alive at once; a scenario that needs more has lost control

}  // namespace

void flatten(base::Packet* packet) {
  base::Packet* tail = packet->tail;
  if (!tail) return;
  std::memcpy(packet->data + packet->size, tail->data, tail->size);
  packet->size += tail->size;
  packet->tail = nullptr;
  if (--tail->refs == 0) tail->pool->recycle(tail);
}

Network::Network(const Scenario& scenario, Random random, Handler* handler)
    : handler_(handler),
      random_(random),
      pool_(kMostPackets),
      devices_(scenario.devices),
      hosts_(scenario.hosts.size()),
      pipes_(scenario.pipes),
      poll_interval_ns_(scenario.poll_interval_ns) {
  for (Device& device : devices_) device.timer_ns.assign(pipes_, base::kNever);
  for (const LinkSpec& spec : scenario.links) {
    const auto wire = static_cast<uint32_t>(wires_.size());
    const uint16_t a_port = port_number(devices_[spec.a].wires.size());
    devices_[spec.a].wires.push_back(wire);
    End a{false, spec.a, a_port}, b{spec.to_host, spec.b, 0};
    if (spec.to_host) {
      hosts_[spec.b] = {spec.a, wire + 1, a_port, base::kNever};
    } else {
      b.port = port_number(devices_[spec.b].wires.size());
      devices_[spec.b].wires.push_back(wire + 1);
    }
    const double milliseconds = static_cast<double>(spec.parameters.delay_ns) / base::kMillisecond;
    const double length = (scenario.fastest_ways ? milliseconds : 1) + random_.uniform() / 64;
    lengths_.push_back(length);
    lengths_.push_back(scenario.detours ? 1 + 2 * random_.uniform() : length);
    wires_.push_back({std::make_unique<io::Link>(spec.parameters, random_.next()), {}, b});
    wires_.push_back({std::make_unique<io::Link>(spec.parameters, random_.next()), {}, a});
  }
  find_routes();
}

Network::~Network() { drain(); }

size_t Network::drain() {
  for (Wire& wire : wires_) {
    if (!wire.link) continue;
    wire.last = wire.link->counters();
    wire.link.reset();
  }
  for (Device& device : devices_) {
    for (base::Packet* packet : device.waiting) base::release(packet);
    device.waiting.clear();
  }
  return pool_.alive();
}

// Ports are dealt to the pipes in turn, so that with several pipes most trees have ports in all of them.
uint16_t Network::port_number(size_t index) const {
  return static_cast<uint16_t>((index % pipes_) * base::kPortsPerPipe + index / pipes_);
}

std::vector<uint16_t> Network::ports(uint32_t device) const {
  std::vector<uint16_t> result;
  for (size_t i = 0; i < devices_[device].wires.size(); ++i) result.push_back(port_number(i));
  return result;
}

void Network::send_from_device(uint32_t device, uint16_t port, base::Packet* packet) {
  const size_t index = size_t{port} % base::kPortsPerPipe * pipes_ + port / base::kPortsPerPipe;
  if (index >= devices_[device].wires.size()) return base::release(packet);
  send(devices_[device].wires[index], packet);
}

void Network::send_from_host(uint32_t host, base::Packet* packet) { send(hosts_[host].wire, packet); }

void Network::send(uint32_t wire, base::Packet* packet) {
  wires_[wire].link->offer(packet, now_ns_);
  schedule(wire);
}

void Network::schedule(uint32_t index) {
  Wire& wire = wires_[index];
  const int64_t due = wire.link->next_deadline();
  if (due >= wire.scheduled_ns) return;
  wire.scheduled_ns = std::max(due, now_ns_);
  queue_.push(wire.scheduled_ns, {Kind::wire, 0, index});
}

void Network::deliver(uint32_t index) {
  Wire& wire = wires_[index];
  wire.scheduled_ns = base::kNever;
  base::Packet* burst[base::kBurst];
  const unsigned count = wire.link->take(burst, base::kBurst, now_ns_);
  schedule(index);
  if (count == 0) return;
  events_ += count;
  packets_ += count;
  for (unsigned i = 0; i < count; ++i) {
    flatten(burst[i]);
    burst[i]->port = wire.to.port;
    burst[i]->time_ns = now_ns_;
  }
  if (wire.to.host) {
    for (unsigned i = 0; i < count; ++i) handler_->at_host(wire.to.node, burst[i]);
    return;
  }
  Device& device = devices_[wire.to.node];
  if (!device.up) {
    for (unsigned i = 0; i < count; ++i) base::release(burst[i]);
    return;
  }
  if (poll_interval_ns_ == 0) return handler_->at_device(wire.to.node, {burst, count});
  device.waiting.insert(device.waiting.end(), burst, burst + count);
  if (std::exchange(device.polling, true)) return;
  queue_.push((now_ns_ / poll_interval_ns_ + 1) * poll_interval_ns_, {Kind::device_poll, 0, wire.to.node});
}

void Network::flush(uint32_t index) {
  Device& device = devices_[index];
  device.polling = false;
  std::vector<base::Packet*> packets = std::exchange(device.waiting, {});
  for (size_t i = 0; i < packets.size(); i += base::kBurst) {
    const std::span<base::Packet* const> burst(packets.data() + i,
                                               std::min(base::kBurst, packets.size() - i));
    if (device.up) {
      handler_->at_device(index, burst);
    } else {
      for (base::Packet* packet : burst) base::release(packet);
    }
  }
}

void Network::wake_device(uint32_t device, unsigned pipe, int64_t at_ns) {
  int64_t& timer = devices_[device].timer_ns[pipe];
  if (at_ns >= timer) return;
  timer = std::max(at_ns, now_ns_);
  queue_.push(timer, {Kind::device_timer, static_cast<uint8_t>(pipe), device});
}

void Network::wake_host(uint32_t host, int64_t at_ns) {
  int64_t& timer = hosts_[host].timer_ns;
  if (at_ns >= timer) return;
  timer = std::max(at_ns, now_ns_);
  queue_.push(timer, {Kind::host_timer, 0, host});
}

void Network::call_at(int64_t at_ns, std::function<void()> function) {
  uint32_t index;
  if (free_calls_.empty()) {
    index = static_cast<uint32_t>(calls_.size());
    calls_.push_back(std::move(function));
  } else {
    index = free_calls_.back();
    free_calls_.pop_back();
    calls_[index] = std::move(function);
  }
  queue_.push(std::max(at_ns, now_ns_), {Kind::call, 0, index});
}

void Network::run(int64_t until_ns, const std::function<bool()>& stop) {
  while (!queue_.empty() && queue_.next_time_ns() <= until_ns && !stop()) {
    int64_t at_ns;
    const Event event = queue_.pop(&at_ns);
    now_ns_ = at_ns;
    switch (event.kind) {
      case Kind::wire:
        if (wires_[event.index].scheduled_ns == at_ns) deliver(event.index);
        break;
      case Kind::device_poll:
        flush(event.index);
        break;
      case Kind::device_timer: {
        int64_t& timer = devices_[event.index].timer_ns[event.pipe];
        if (timer != at_ns) break;  // an earlier call took its place
        timer = base::kNever;
        ++events_;
        if (devices_[event.index].up) handler_->device_timer(event.index, event.pipe);
        break;
      }
      case Kind::host_timer: {
        int64_t& timer = hosts_[event.index].timer_ns;
        if (timer != at_ns) break;
        timer = base::kNever;
        ++events_;
        handler_->host_timer(event.index);
        break;
      }
      case Kind::call: {
        std::function<void()> function = std::move(calls_[event.index]);
        free_calls_.push_back(event.index);
        ++events_;
        function();
        break;
      }
    }
  }
}

void Network::set_device_up(uint32_t device, bool up) { devices_[device].up = up; }

void Network::set_link_up(uint32_t link, bool up) {
  for (uint32_t wire : {2 * link, 2 * link + 1}) {
    io::LinkParameters parameters = wires_[wire].link->parameters();
    parameters.up = up;
    wires_[wire].link->change(parameters, now_ns_);
    schedule(wire);
  }
}

// Shortest paths under lengths that no two paths share: without detours there and back is the same way, with
// them a cable is as long in one direction as chance will have it.
void Network::find_routes() {
  const uint32_t count = device_count();
  routes_.assign(count, std::vector<Hop>(count));
  std::vector<std::vector<double>> length(count, std::vector<double>(count, kUnreachable));
  for (uint32_t at = 0; at < count; ++at) {
    if (!devices_[at].up) continue;
    length[at][at] = 0;
    for (uint32_t wire : devices_[at].wires) {
      const End& far = wires_[wire].to;
      if (far.host || !devices_[far.node].up || lengths_[wire] >= length[at][far.node]) continue;
      length[at][far.node] = lengths_[wire];
      routes_[at][far.node] = {wires_[wire ^ 1].to.port, far};
    }
  }
  for (uint32_t via = 0; via < count; ++via) {
    for (uint32_t from = 0; from < count; ++from) {
      if (length[from][via] == kUnreachable) continue;
      for (uint32_t to = 0; to < count; ++to) {
        if (length[from][via] + length[via][to] >= length[from][to]) continue;
        length[from][to] = length[from][via] + length[via][to];
        routes_[from][to] = routes_[from][via];
      }
    }
  }
  reachable_.assign(count, std::vector<bool>(count, false));
  for (uint32_t from = 0; from < count; ++from) {
    for (uint32_t to = 0; to < count; ++to) reachable_[from][to] = length[from][to] < kUnreachable;
  }
}

const Network::Hop* Network::next_hop(uint32_t from, uint32_t to) const {
  return reachable_[from][to] && from != to ? &routes_[from][to] : nullptr;
}

Network::Hop Network::hop_over(uint32_t device, uint32_t link) const {
  for (const uint32_t wire : devices_[device].wires)
    if (wire / 2 == link) return {wires_[wire ^ 1].to.port, wires_[wire].to};
  return {};
}

Network::Hop Network::host_port(uint32_t host) const { return {hosts_[host].device_port, {true, host, 0}}; }

}  // namespace l3dml::sim
