#include "dataplane/app/config.h"

#include <gtest/gtest.h>

namespace l3dml::app {
namespace {

constexpr const char* kGood = R"(
log_level: warning
seed: 7
devices:
  - name: paris
    slots: 4096
    ports:
      - {port: 0, tap: w0, netns: l3dml-w0, mac: "02:00:00:00:00:01", link: {delay: 1ms, reverse: {delay: 2ms}}}
      - {port: 1, dpdk: "net_null0"}
  - name: london
    id: 9
    pipes: 2
    ports:
      - {port: [0, 128], dpdk: "0000:01:00.0", checksum: true}
      - {port: 5, up: false}
links:
  - name: channel
    ends: [paris:4, london:4]
    rate: 100Mbit
    delay: 25ms
    loss: {mean: 0.1%, burst: 3}
    reverse: {loss: 1%}
    trace:
      - {at: 10s, rate: 20Mbit}
      - {at: 20s, loss: 2%}
    repeat: 30s
  - ends: [paris:6, london:5]
)";

TEST(Config, reads_a_whole_file) {
  const auto config = parse_config(kGood, "good.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->devices.size(), 2u);
  const PortConfig& tap = config->devices[0].ports[0];
  EXPECT_EQ(tap.tap.interface, "w0");
  EXPECT_EQ(tap.tap.netns, "l3dml-w0");
  EXPECT_TRUE(tap.tap.wants_checksum);
  EXPECT_EQ(tap.access->parameters[0].delay_ns, 1'000'000);
  EXPECT_EQ(tap.access->parameters[1].delay_ns, 2'000'000);
  EXPECT_EQ(tap.access->name, "paris:0");
  EXPECT_EQ(config->devices[1].id, 9u);
  EXPECT_EQ(config->devices[1].ports[0].ethdev.queues, 2u);
  EXPECT_NE(config->devices[0].device.mac, config->devices[1].device.mac);
  const BetweenConfig& channel = config->links[0];
  EXPECT_EQ(channel.ends[1].device, 1u);
  EXPECT_NEAR(channel.link.parameters[0].loss.mean(), 0.001, 1e-9);
  EXPECT_NEAR(channel.link.parameters[1].loss.mean(), 0.01, 1e-9);
  EXPECT_EQ(channel.link.parameters[1].rate_bps, 100'000'000u);
  EXPECT_EQ(channel.link.traces[1].changes.size(), 2u);
  EXPECT_EQ(config->links[1].link.name, "paris:6-london:5");
}

struct Mistake {
  const char* yaml;
  const char* message;
};

class ConfigMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistake, is_named_with_line_and_key) {
  const auto config = parse_config(GetParam().yaml, "x.yaml");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(std::string(config.status().message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigMistake,
    testing::Values(
        Mistake{"devices: [", "x.yaml:1: end of sequence flow not found"},
        Mistake{"- a", "x.yaml:1: must be a map with `devices`"},
        Mistake{"seed: 1", "x.yaml: devices: at least one is needed"},
        Mistake{"seed: 1\nseed: 2\ndevices: [{}]", "x.yaml:2: seed: is given twice"},
        Mistake{"colour: red\ndevices: [{}]",
                "x.yaml:1: colour: is not known here; there are bfrt, bfrt_tls, buffers, control, cpus, "
                "devices, eal, "
                "links, "
                "log_level, poll, program, schema, seed, spin, status, workers"},
        Mistake{"log_level: loud\ndevices: [{}]",
                "x.yaml:1: log_level: \"loud\" is none of error, warning, info, debug"},
        Mistake{"devices:\n  - slots: 1000", "x.yaml:2: devices[0].slots: must be a power of two"},
        Mistake{"devices:\n  - lanes: 512", "x.yaml:2: devices[0].lanes: 512 is out of range: 64 to 320"},
        Mistake{"devices:\n  - ports:\n    - tap: w0",
                "x.yaml:3: devices[0].ports[0].port: is missing: the device port number"},
        Mistake{"devices:\n  - ports:\n    - port: 0\n      tap: w0\n      mtu: big",
                "x.yaml:5: devices[0].ports[0].mtu: \"big\" is not a whole number"},
        Mistake{"devices:\n  - ports:\n    - {port: 0, tap: w0, dpdk: net_null0}",
                "x.yaml:3: devices[0].ports[0].port: is attached twice: give one of tap, dpdk, interface"},
        Mistake{"devices:\n  - ports:\n    - {port: 0, tap: w0, mac: \"01:00:00:00:00:01\"}",
                "x.yaml:3: devices[0].ports[0].mac: \"01:00:00:00:00:01\" is a multicast address"},
        Mistake{"devices:\n  - ports: [{port: 0, tap: a}, {port: 0, tap: b}]",
                "x.yaml: device device0: port 0 is given twice"},
        Mistake{"devices:\n  - ports: [{port: 128, tap: a}]",
                "x.yaml: device device0: port 128 lies in pipe 1, but pipes is 1"},
        Mistake{"devices:\n  - ports: [{port: 3}]",
                "x.yaml: device device0: port 3 is attached to nothing: give it tap, dpdk or interface, or "
                "make it the end of a link"},
        Mistake{"devices: [{name: a}, {name: a}]", "x.yaml: devices: two are called \"a\""},
        Mistake{"devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, c:1]",
                "x.yaml:3: links[0].ends: there is no device \"c\""},
        Mistake{"devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1]",
                "x.yaml:3: links[0].ends: must be two device ports, like [paris:4, london:4]"},
        Mistake{"devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, b:1]\n    loss: 2",
                "x.yaml:4: links[0].loss: \"2\" is not a share between 0 and 1 (or 0% and 100%)"},
        Mistake{
            "devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, b:1]\n    loss: {mean: 1%, bust: 3}",
            "x.yaml:4: links[0].loss: \"3\" is not a share between 0 and 1 (or 0% and 100%)"},
        Mistake{
            "devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, b:1]\n    trace:\n      - rate: 1Mbit",
            "x.yaml:5: links[0].trace[0].at: is missing: the time after the start at which this change "
            "comes"},
        Mistake{"devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, b:1]\n    trace: [{at: 2s, up: "
                "no}, {at: 1s, up: yes}]",
                "x.yaml:4: links[0].trace[1].at: lies before the change above it"},
        Mistake{"devices: [{name: a}, {name: b}]\nlinks:\n  - ends: [a:1, b:1]\n    ecn: 10kB",
                "x.yaml:3: links[0]: ecn needs a rate: without one there is no queue to measure"},
        Mistake{"devices: [{name: a}]\nlinks:\n  - ends: [a:1, a:1]", "x.yaml: links: a:1 is an end of two"},
        Mistake{"devices: [{name: a, ports: [{port: 1, tap: t}]}, {name: b}]\nlinks: [{ends: [a:1, b:1]}]",
                "x.yaml: link a:1-b:1: a:1 is attached to something else already"}));

TEST(PortFile, reads_both_forms_of_the_model) {
  DeviceConfig device{.name = "d", .id = 0, .device = {}, .ports = {}};
  ASSERT_TRUE(
      add_port_file(
          R"({"PortToVeth": [{"device_port": 0, "veth1": 0, "veth2": 1}, {"device_port": 64, "veth1": "veth250"}],
                                "PortToIf": [{"device_port": 5, "if": "eth1"}]})",
          "ports.json", device)
          .ok());
  ASSERT_EQ(device.ports.size(), 3u);
  EXPECT_NE(device.ports[0].ethdev.device.find("iface=veth0,"), std::string::npos);
  EXPECT_NE(device.ports[1].ethdev.device.find("iface=veth250,"), std::string::npos);
  EXPECT_EQ(device.ports[2].device_ports[0], 5);
}

TEST(PortFile, says_what_is_wrong) {
  DeviceConfig device{.name = "d", .id = 0, .device = {}, .ports = {}};
  EXPECT_EQ(add_port_file("[]", "p.json", device).message(),
            "p.json: must be a JSON object with PortToVeth or PortToIf");
  EXPECT_EQ(add_port_file(R"({"PortToIf": [{"device_port": 512, "if": "x"}]})", "p.json", device).message(),
            "p.json: each item of PortToIf needs device_port (0 to 511) and if");
}

TEST(Interface, has_the_form_of_bmv2) {
  DeviceConfig device{.name = "d", .id = 0, .device = {}, .ports = {}};
  EXPECT_TRUE(add_interface("3@veth6", device).ok());
  EXPECT_EQ(device.ports[0].device_ports[0], 3);
  for (const char* text : {"veth6", "3@", "@veth6", "512@veth0"})
    EXPECT_FALSE(add_interface(text, device).ok()) << text;
}

}  // namespace
}  // namespace l3dml::app
