#include "dataplane/app/switch_ports.h"

#include "absl/strings/str_cat.h"

namespace l3dml::app {

SwitchPorts::SwitchPorts(Member& member) : member_(member) {
  for (AttachedPort& port : member.ports) attached_[port.device_port] = &port;
}

std::vector<server::PortDriver::Given> SwitchPorts::given() const {
  std::vector<Given> given;
  for (const AttachedPort& port : member_.ports)
    if (port.from_start) given.push_back({port.device_port, true});
  return given;
}

absl::Status SwitchPorts::check(uint16_t port, const server::PortSettings& settings) const {
  if (settings.mac.loopback == io::Loopback::none) return absl::OkStatus();
  const AttachedPort* const attached = attached_.at(port);
  if (attached == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("device port ", port, " is attached to nothing and cannot be looped back"));
  if (settings.mac.loopback == io::Loopback::far && !attached->port->can_loop_far())
    return absl::InvalidArgumentError(
        absl::StrCat("device port ", port, " sends on another worker than it receives: only near loopback"));
  return absl::OkStatus();
}

void SwitchPorts::configure(uint16_t port, const server::PortSettings& settings) {
  AttachedPort* const attached = attached_.at(port);
  if (attached == nullptr) return;
  attached->enabled = settings.enabled;
  attached->mac = settings.mac;
  settle(member_, *attached);
}

void SwitchPorts::remove(uint16_t port) { configure(port, {.mac = {.receive = false, .transmit = false}}); }

void SwitchPorts::look() {
  for (const AttachedPort& port : member_.ports)
    links_[port.device_port] = port.plugged && port.port->link_up();
}

server::PortFigures SwitchPorts::figures(uint16_t port) const {
  const AttachedPort* const attached = attached_.at(port);
  if (attached == nullptr) return {};
  return {attached->port->received(), attached->port->sent(), attached->port->stats(),
          attached->port->queue()};
}

void SwitchPorts::shape(uint16_t port, uint64_t rate_bps) {
  if (AttachedPort* const attached = attached_.at(port)) attached->port->shape(rate_bps, clock_.now_ns());
}

void SwitchPorts::reset_mark(uint16_t port) {
  if (AttachedPort* const attached = attached_.at(port)) attached->port->reset_mark();
}

}  // namespace l3dml::app
