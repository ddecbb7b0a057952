#include "dataplane/app/config.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "dataplane/app/yaml_reader.h"
#include "dataplane/io/units.h"

namespace l3dml::app {
namespace {

constexpr const char* kLinkScalars[] = {
    "rate",          "overhead", "delay",          "jitter", "jitter_kind", "duplicate", "reorder",
    "reorder_delay", "corrupt",  "bit_error_rate", "queue",  "ecn",         "up"};

// The link parameters in this map as a patch; consumes their keys.
io::LinkPatch read_patch(YamlMap& map) {
  io::LinkPatch patch;
  for (const char* name : kLinkScalars)
    map.parsed(name, [&](const std::string& text) { return patch.set(name, text); });
  const YAML::Node loss = map.get("loss");
  if (loss.IsDefined() && loss.IsMap()) {
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& item : loss)
      fields.emplace_back(item.first.as<std::string>(""), item.second.as<std::string>(""));
    if (const auto status = patch.set_loss(fields); !status.ok())
      map.fail("loss", std::string(status.message()));
  } else {
    map.parsed("loss", [&](const std::string& text) { return patch.set("loss", text); });
  }
  return patch;
}

io::LinkTrace read_trace(YamlMap& map) {
  io::LinkTrace trace;
  map.duration("repeat", trace.repeat_ns);
  map.each("trace", [&](const YAML::Node& node, const std::string& path) {
    YamlMap change(map.reader(), node, path);
    io::LinkTrace::Change entry;
    if (!change.duration("at", entry.at_ns) && map.reader().ok())
      change.fail("at", "is missing: the time after the start at which this change comes");
    entry.patch = read_patch(change);
    change.finish();
    if (!trace.changes.empty() && entry.at_ns < trace.changes.back().at_ns)
      change.fail("at", "lies before the change above it");
    trace.changes.push_back(entry);
  });
  if (trace.repeat_ns != 0 && (trace.changes.empty() || trace.repeat_ns <= trace.changes.back().at_ns))
    map.fail("repeat", "must be later than the last change of the trace");
  return trace;
}

// Parameters of both directions: those of the map, then those of its `reverse` on top for the way back.
void read_link(YamlMap& map, LinkConfig& link) {
  const io::LinkPatch both = read_patch(map);
  both.apply(link.parameters[0]);
  both.apply(link.parameters[1]);
  link.traces[0] = link.traces[1] = read_trace(map);
  uint64_t seed = 0;
  if (map.count("seed", seed, 0, UINT64_MAX)) link.seed = seed;
  if (map.has("reverse")) {
    YamlMap reverse(map.reader(), map.get("reverse"), map.path("reverse"));
    read_patch(reverse).apply(link.parameters[1]);
    if (reverse.has("trace") || reverse.has("repeat")) link.traces[1] = read_trace(reverse);
    reverse.finish();
  }
  for (int way = 0; way < 2; ++way) {
    io::LinkParameters parameters = link.parameters[way];
    if (const auto status = parameters.validate(); !status.ok())
      map.reader().fail(map.node(), map.path(), std::string(status.message()));
    for (const auto& change : link.traces[way].changes) {
      change.patch.apply(parameters);
      if (const auto status = parameters.validate(); !status.ok())
        map.fail("trace",
                 absl::StrCat("at ", change.at_ns / 1'000'000, " ms: ", std::string(status.message())));
    }
  }
}

absl::Status read_mac(const std::string& text, wire::MacAddress& mac) {
  int used = 0;
  unsigned b[6];
  if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", b, b + 1, b + 2, b + 3, b + 4, b + 5, &used) !=
          6 ||
      static_cast<size_t>(used) != text.size())
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no MAC address like 02:00:00:00:00:01"));
  for (int i = 0; i < 6; ++i) mac[static_cast<size_t>(i)] = static_cast<uint8_t>(b[i]);
  if (mac[0] & 1) return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is a multicast address"));
  return absl::OkStatus();
}

PortConfig read_port(YamlMap& map, const DeviceConfig& device) {
  PortConfig port;
  std::vector<std::string> numbers;
  if (!map.texts("port", numbers)) map.fail("port", "is missing: the device port number");
  for (const std::string& text : numbers) {
    const auto number = io::parse_count(text);
    if (!number.ok() || *number >= 512)
      map.fail("port",
               absl::StrCat("\"", text, "\" is no device port: 0 to 511, pipe x 128 + port in the pipe"));
    else
      port.device_ports.push_back(static_cast<uint16_t>(*number));
  }
  port.name = absl::StrCat(device.name, ":", numbers.empty() ? "?" : numbers[0]);
  map.text("name", port.name);
  port.tap.name = port.ethdev.name = port.name;
  std::string interface;
  int attachments = 0;
  if (map.text("tap", port.tap.interface)) ++attachments, port.kind = PortConfig::Kind::tap;
  if (map.text("dpdk", port.ethdev.device)) ++attachments, port.kind = PortConfig::Kind::ethdev;
  if (map.text("interface", interface)) {
    ++attachments, port.kind = PortConfig::Kind::ethdev;
  }
  if (attachments > 1) map.fail("port", "is attached twice: give one of tap, dpdk, interface");
  port.ethdev.queues = static_cast<unsigned>(std::max<size_t>(1, port.device_ports.size()));
  if (port.kind != PortConfig::Kind::ethdev && port.device_ports.size() > 1)
    map.fail("port", "may be a list only for a NIC with several queues (dpdk)");
  if (port.kind == PortConfig::Kind::tap) {
    map.text("netns", port.tap.netns);
    wire::MacAddress mac;
    map.parsed("mac", [&](const std::string& text) {
      port.tap.mac = text;
      return read_mac(text, mac);
    });
    map.count("queue_packets", port.tap.queue_packets, 1, 1'000'000);
    map.flag("offload", port.tap.offload);
  }
  if (port.kind == PortConfig::Kind::ethdev) {
    port.ethdev.wants_checksum = false;
    map.count("rx_descriptors", port.ethdev.rx_descriptors, 32, 32768);
    map.count("tx_descriptors", port.ethdev.tx_descriptors, 32, 32768);
    map.count("tx_backlog", port.ethdev.tx_backlog, 32, 1 << 20);
    map.flag("promiscuous", port.ethdev.promiscuous);
  }
  if (port.kind != PortConfig::Kind::none) {
    map.count("mtu", port.tap.mtu, 576, 9216);
    port.ethdev.max_frame = port.tap.mtu + 14;
    if (!interface.empty()) port.ethdev.device = af_packet_device(interface, port.tap.mtu);
    bool checksum = port.kind == PortConfig::Kind::tap;
    map.flag("checksum", checksum);
    port.tap.wants_checksum = port.ethdev.wants_checksum = checksum;
    if (map.has("link")) {
      YamlMap link(map.reader(), map.get("link"), map.path("link"));
      port.access.emplace();
      port.access->name = port.name;
      read_link(link, *port.access);
      link.finish();
    }
  }
  map.flag("up", port.up);
  map.text("capture", port.capture);
  map.finish();
  return port;
}

DeviceConfig read_device(YamlMap& map, size_t index) {
  DeviceConfig device;
  device.id = static_cast<uint32_t>(index);
  device.name = absl::StrCat("device", index);
  map.text("name", device.name);
  map.count("id", device.id, 0, UINT32_MAX);
  pipeline::DeviceConfig& d = device.device;
  d.mac = {0x02, 0x13, 0xd3, 0x00, static_cast<uint8_t>(index >> 8), static_cast<uint8_t>(index)};
  map.parsed("mac", [&](const std::string& text) { return read_mac(text, d.mac); });
  map.count("pipes", d.pipes, 1, 4);
  map.count("slots", d.slots, 1, 1 << 24);
  if ((d.slots & (d.slots - 1)) != 0) map.fail("slots", "must be a power of two");
  map.count("lanes", d.lanes, 64, 320);
  if (d.lanes % 64 != 0) map.fail("lanes", "must be a multiple of 64");
  map.count("neighbors", d.neighbors, 1, 65536);
  map.count("shards_per_pipe", d.shards_per_pipe, 1, 64);
  map.count("ring_entries", d.ring_entries, 64, 1 << 26);
  map.duration("sync_idle", d.sync_idle_ns);
  map.text("budget", device.budget);
  map.each("ports", [&](const YAML::Node& node, const std::string& path) {
    YamlMap port(map.reader(), node, path);
    device.ports.push_back(read_port(port, device));
  });
  map.finish();
  return device;
}

// "paris:4"
void read_end(YamlMap& map, const std::string& text, const SwitchConfig& config, LinkEnd& end) {
  const size_t colon = text.rfind(':');
  const auto port =
      io::parse_count(colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1));
  if (!port.ok() || *port >= 512)
    return map.fail("ends", absl::StrCat("\"", text, "\" is not DEVICE:PORT, like paris:4"));
  end.port = static_cast<uint16_t>(*port);
  for (end.device = 0; end.device < config.devices.size(); ++end.device)
    if (config.devices[end.device].name == text.substr(0, colon)) return;
  end.device = 0;
  map.fail("ends", absl::StrCat("there is no device \"", text.substr(0, colon), "\""));
}

BetweenConfig read_between(YamlMap& map, const SwitchConfig& config) {
  BetweenConfig between;
  std::vector<std::string> ends;
  map.texts("ends", ends);
  if (ends.size() != 2) {
    map.fail("ends", "must be two device ports, like [paris:4, london:4]");
  } else {
    for (size_t i = 0; i < 2; ++i) read_end(map, ends[i], config, between.ends[i]);
    between.link.name = ends[0] + "-" + ends[1];
  }
  map.text("name", between.link.name);
  read_link(map, between.link);
  map.finish();
  return between;
}

void read_top(YamlMap& map, SwitchConfig& config) {
  map.parsed("log_level", [&](const std::string& text) {
    config.log_level = text;
    return text == "error" || text == "warning" || text == "info" || text == "debug"
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     absl::StrCat("\"", text, "\" is none of error, warning, info, debug"));
  });
  map.count("workers", config.workers, 1, 64);
  std::vector<std::string> cpus;
  if (map.texts("cpus", cpus))
    for (const std::string& text : cpus) {
      const auto cpu = io::parse_count(text);
      if (!cpu.ok() || *cpu > 1023)
        map.fail("cpus", absl::StrCat("\"", text, "\" is no CPU number"));
      else
        config.cpus.push_back(static_cast<unsigned>(*cpu));
    }
  map.flag("poll", config.poll);
  map.duration("spin", config.spin_ns);
  map.count("buffers", config.buffers, 1024, 1 << 24);
  map.count("seed", config.seed, 0, UINT64_MAX);
  map.texts("eal", config.eal);
  map.text("bfrt", config.bfrt);
  if (map.has("bfrt_tls")) {
    YamlMap tls(map.reader(), map.get("bfrt_tls"), map.path("bfrt_tls"));
    const std::pair<const char*, std::string&> files[] = {{"certificate", config.bfrt_tls.certificate},
                                                          {"key", config.bfrt_tls.key},
                                                          {"clients", config.bfrt_tls.clients}};
    for (const auto& [name, target] : files)
      if (!tls.text(name, target) && tls.reader().ok())
        tls.fail(name, "is missing: certificate, key, and clients (who signs theirs) are PEM files");
    tls.finish();
  }
  map.text("status", config.status);
  map.text("control", config.control);
  map.text("program", config.program);
  map.text("schema", config.schema);
  map.each("devices", [&](const YAML::Node& node, const std::string& path) {
    YamlMap device(map.reader(), node, path);
    config.devices.push_back(read_device(device, config.devices.size()));
  });
  map.each("links", [&](const YAML::Node& node, const std::string& path) {
    YamlMap link(map.reader(), node, path);
    config.links.push_back(read_between(link, config));
  });
  map.finish();
}

}  // namespace

absl::StatusOr<SwitchConfig> parse_config(const std::string& text, const std::string& file) {
  SwitchConfig config;
  YamlReader reader(file);
  try {
    const YAML::Node node = YAML::Load(text);
    if (!node.IsMap())
      return absl::InvalidArgumentError(absl::StrCat(file, ":1: must be a map with `devices`"));
    YamlMap map(reader, node, "");
    read_top(map, config);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.mark.line + 1, ": ", error.msg));
  }
  if (!reader.ok()) return reader.status();
  if (const auto status = check_config(config); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", std::string(status.message())));
  return config;
}

absl::StatusOr<SwitchConfig> load_config(const std::string& file) {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  std::ostringstream text;
  text << in.rdbuf();
  return parse_config(text.str(), file);
}

}  // namespace l3dml::app
