// What must hold across the parts of a configuration, and the short forms other tools have for ports.
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "dataplane/app/config.h"
#include "dataplane/app/program.h"
#include "dataplane/io/units.h"

namespace l3dml::app {
namespace {

absl::Status wrong(const std::string& text) { return absl::InvalidArgumentError(text); }

PortConfig af_packet(const DeviceConfig& device, uint16_t device_port, const std::string& interface) {
  PortConfig port;
  port.kind = PortConfig::Kind::ethdev;
  port.device_ports = {device_port};
  port.name = absl::StrCat(device.name, ":", device_port);
  port.ethdev.name = port.name;
  port.ethdev.device = af_packet_device(interface, port.tap.mtu);
  port.ethdev.wants_checksum = true;
  return port;
}

}  // namespace

unsigned af_packet_entry(unsigned mtu) { return mtu > 1900 ? 16384 : 2048; }

std::string af_packet_device(const std::string& interface, unsigned mtu) {
  const unsigned frame = af_packet_entry(mtu);
  return absl::StrCat("net_af_packet_", interface, ",iface=", interface, ",blocksz=1048576,framesz=", frame,
                      ",framecnt=", (8u << 20) / frame);
}

absl::Status check_config(const SwitchConfig& config) {
  if (config.devices.empty()) return wrong("devices: at least one is needed");
  std::set<std::string> names;
  std::set<uint32_t> ids;
  for (const DeviceConfig& device : config.devices)
    if (auto status = check_budget(device); !status.ok()) return status;
  std::vector<std::map<uint16_t, const PortConfig*>> ports(config.devices.size());
  for (size_t d = 0; d < config.devices.size(); ++d) {
    const DeviceConfig& device = config.devices[d];
    if (!names.insert(device.name).second)
      return wrong(absl::StrCat("devices: two are called \"", device.name, "\""));
    if (!ids.insert(device.id).second) return wrong(absl::StrCat("devices: two have id ", device.id));
    for (const PortConfig& port : device.ports)
      for (const uint16_t number : port.device_ports) {
        if (number >> 7 >= device.device.pipes)
          return wrong(absl::StrCat("device ", device.name, ": port ", number, " lies in pipe ", number >> 7,
                                    ", but pipes is ", device.device.pipes));
        if (!ports[d].emplace(number, &port).second)
          return wrong(absl::StrCat("device ", device.name, ": port ", number, " is given twice"));
      }
  }
  std::set<std::string> links;
  std::set<std::pair<size_t, uint16_t>> linked;
  for (const BetweenConfig& between : config.links) {
    if (!links.insert(between.link.name).second)
      return wrong(absl::StrCat("links: two are called \"", between.link.name, "\""));
    for (const LinkEnd& end : between.ends) {
      const std::string name = absl::StrCat(config.devices[end.device].name, ":", end.port);
      if (end.port >> 7 >= config.devices[end.device].device.pipes)
        return wrong(absl::StrCat("link ", between.link.name, ": ", name, " lies in pipe ", end.port >> 7,
                                  ", but pipes is ", config.devices[end.device].device.pipes));
      if (!linked.emplace(end.device, end.port).second)
        return wrong(absl::StrCat("links: ", name, " is an end of two"));
      const auto port = ports[end.device].find(end.port);
      if (port != ports[end.device].end() && port->second->kind != PortConfig::Kind::none)
        return wrong(
            absl::StrCat("link ", between.link.name, ": ", name, " is attached to something else already"));
    }
  }
  for (size_t d = 0; d < config.devices.size(); ++d)
    for (const auto& [number, port] : ports[d])
      if (port->kind == PortConfig::Kind::none && !linked.contains({d, number}))
        return wrong(absl::StrCat(
            "device ", config.devices[d].name, ": port ", number,
            " is attached to nothing: give it tap, dpdk or interface, or make it the end of a link"));
  return absl::OkStatus();
}

absl::Status add_interface(const std::string& text, DeviceConfig& device) {
  const size_t at = text.find('@');
  const auto number = io::parse_count(std::string_view(text).substr(0, at));
  if (at == std::string::npos || at + 1 == text.size() || !number.ok() || *number >= 512)
    return wrong(absl::StrCat("\"", text, "\" is not PORT@INTERFACE, like 0@veth0"));
  device.ports.push_back(af_packet(device, static_cast<uint16_t>(*number), text.substr(at + 1)));
  return absl::OkStatus();
}

absl::Status add_port_file(const std::string& text, const std::string& file, DeviceConfig& device) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || (!json.contains("PortToVeth") && !json.contains("PortToIf")))
    return wrong(absl::StrCat(file, ": must be a JSON object with PortToVeth or PortToIf"));
  const std::pair<const char*, const char*> forms[] = {{"PortToVeth", "veth1"}, {"PortToIf", "if"}};
  for (const auto& [list, key] : forms) {
    if (!json.contains(list)) continue;
    for (const auto& item : json[list]) {
      if (!item.is_object() || !item.contains("device_port") || !item["device_port"].is_number_unsigned() ||
          item["device_port"].get<uint64_t>() >= 512 || !item.contains(key) ||
          !(item[key].is_string() || item[key].is_number()))
        return wrong(absl::StrCat(file, ": each item of ", list, " needs device_port (0 to 511) and ", key));
      // The model writes veth pairs as bare numbers.
      const std::string interface = item[key].is_string() ? item[key].get<std::string>()
                                                          : absl::StrCat("veth", item[key].get<uint64_t>());
      device.ports.push_back(af_packet(device, item["device_port"].get<uint16_t>(), interface));
    }
  }
  return absl::OkStatus();
}

}  // namespace l3dml::app
