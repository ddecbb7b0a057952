#include "control/app/config.h"

#include "control/app/quantity.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

TEST(ControllerConfig, reads_everything) {
  const auto c = parse_config(R"(
listen: [127.0.0.1:0, "unix:/tmp/x.sock"]
store: sqlite:/tmp/x.db
metrics: 127.0.0.1:9464
operators: [alice]
switch_grace: 2500ms
sites: [{name: west, switch: "127.0.0.1:50052", device: 1}, {name: hub, router: true}]
hosts: [{name: w0, site: west, rate: 1Gbit, delay: 1ms, port: 3}]
links: [{between: [west, hub], rate: 100Mbit, delay: 25ms, loss: 0.1%, ports: [4, 5]}]
)",
                              "x.yaml");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->listen, (std::vector<std::string>{"127.0.0.1:0", "unix:/tmp/x.sock"}));
  EXPECT_DOUBLE_EQ(c->switch_grace_s, 2.5);
  ASSERT_EQ(c->network.sites.size(), 2u);
  EXPECT_EQ(c->network.sites[0].device_id, 1u);
  EXPECT_TRUE(c->network.sites[1].router);
  EXPECT_EQ(c->network.hosts[0].port, 3);
  EXPECT_DOUBLE_EQ(c->network.hosts[0].rate_bps, 1e9);
  EXPECT_EQ(c->network.links[0].name, "west-hub");
  EXPECT_DOUBLE_EQ(c->network.links[0].loss, 0.001);
  EXPECT_EQ(c->network.links[0].port_b, 5);
}

TEST(ControllerConfig, mistakes_are_named_with_their_line) {
  const auto message = [](const char* text) {
    return std::string(parse_config(text, "f").status().message());
  };
  EXPECT_EQ(message("stroe: x\n"),
            "f: line 1, the file: \"stroe\" is not a key here: listen, store, standby, store_lease, "
            "store_tls, metrics, "
            "tls, switch_tls, operators, policy, models, telemetry, policy_hysteresis, "
            "detach_grace, switch_grace, sites, hosts, links");
  EXPECT_EQ(message("\nlinks: [{between: [a]}]\n"), "f: line 2, links: between must name two sites");
  EXPECT_EQ(message("hosts: [{name: w, site: a, rate: fast}]\n"),
            "f: line 1, hosts: rate must be written like 100Mbit, not \"fast\"");
  EXPECT_EQ(message("tls: {certificate: c}\n"), "f: line 1, tls: key is missing");
  EXPECT_NE(message("a: [").find("f: line "), std::string::npos);
}

TEST(Quantity, as_people_write_them) {
  EXPECT_DOUBLE_EQ(*parse_rate("2.5Gbit"), 2.5e9);
  EXPECT_DOUBLE_EQ(*parse_duration("25ms"), 0.025);
  EXPECT_DOUBLE_EQ(*parse_share("0.5%"), 0.005);
  EXPECT_FALSE(parse_share("101%").ok());
  EXPECT_FALSE(parse_rate("-1Mbit").ok());
  EXPECT_FALSE(parse_duration("5 minutes").ok());
}

}  // namespace
}  // namespace l3dml::control
