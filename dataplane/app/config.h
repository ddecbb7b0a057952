// What a switch process is made of, as its YAML file says (README.md has the format). Reading is strict; what
// was read is consistent: device and port names resolve, every port is attached to exactly one thing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/io/ethdev_port.h"
#include "dataplane/io/link_parameters.h"
#include "dataplane/io/tap_port.h"
#include "dataplane/pipeline/device.h"

namespace l3dml::app {

// Both directions of an emulated link; 0 = from the first end to the second.
struct LinkConfig {
  std::string name;
  io::LinkParameters parameters[2];
  io::LinkTrace traces[2];
  std::optional<uint64_t> seed;  // else from the process's seed and the link's place in the file
};

struct PortConfig {
  enum class Kind : uint8_t { none, tap, ethdev };
  Kind kind = Kind::none;              // none: an end of a link
  std::vector<uint16_t> device_ports;  // several: one per queue of the NIC, each in a pipe of its own
  std::string name;
  io::TapConfig tap;
  io::EthdevConfig ethdev;
  bool up = true;
  std::optional<LinkConfig>
      access;           // an emulated line in front of a tap or NIC; direction 0 = into the switch
  std::string capture;  // pcapng file to write from the start
};

struct DeviceConfig {
  std::string name;
  uint32_t id = 0;              // BfRuntime device_id
  std::string budget = "none";  // chip that it must fit: tofino1, tofino2
  pipeline::DeviceConfig device;
  std::vector<PortConfig> ports;
};

struct LinkEnd {
  size_t device = 0;  // index
  uint16_t port = 0;  // device port
};

struct BetweenConfig {
  LinkEnd ends[2];
  LinkConfig link;
};

// PEM files of the BfRuntime server; all or none.
struct TlsConfig {
  std::string certificate;
  std::string key;
  std::string clients;  // the authority that signs clients' certificates
};

struct SwitchConfig {
  std::string log_level = "info";
  unsigned workers = 0;        // 0: as many as the largest device has pipes
  std::vector<unsigned> cpus;  // to pin workers to, in turn; empty: the scheduler decides
  bool poll = false;
  int64_t spin_ns = 0;
  uint64_t buffers = 0;  // 0: enough for ports and links
  uint64_t seed = 1;     // of all links that have none
  std::vector<std::string> eal;
  std::string bfrt = "127.0.0.1:50052";    // empty: no BfRuntime
  TlsConfig bfrt_tls;                      // needed where `bfrt` is not loopback
  std::string status = "127.0.0.1:7777";   // answers "1" when ready; empty: none
  std::string control = "127.0.0.1:7778";  // statistics and changes as JSON lines, or unix:PATH; empty: none
  std::string program = "l3dml";           // what BfRuntime clients bind to
  std::string schema;                      // bf-rt.json of that program; empty: the one built in
  std::vector<DeviceConfig> devices;
  std::vector<BetweenConfig> links;
};

absl::StatusOr<SwitchConfig> parse_config(const std::string& text, const std::string& file);
absl::StatusOr<SwitchConfig> load_config(const std::string& file);

// The DPDK device of a kernel interface, by af_packet, and the bytes of one entry of its ring (frame and the
// kernel's header): the driver wants packet buffers to be as large.
unsigned af_packet_entry(unsigned mtu);
std::string af_packet_device(const std::string& interface, unsigned mtu);

// tofino-model's port file: {"PortToVeth": [{"device_port", "veth1", ..}], "PortToIf": [{"device_port",
// "if"}]}. Adds af_packet ports to the device.
absl::Status add_port_file(const std::string& text, const std::string& file, DeviceConfig& device);
// BMv2's "PORT@INTERFACE".
absl::Status add_interface(const std::string& text, DeviceConfig& device);

// Device ports in use, pipes they need, nothing twice. Called by parse_config; again after adding ports.
absl::Status check_config(const SwitchConfig& config);

}  // namespace l3dml::app
