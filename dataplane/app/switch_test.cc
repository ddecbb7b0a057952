// The assembled switch on virtual devices: packets from a pcap file cross two devices and a link into another
// file.
#include "dataplane/app/switch.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "dataplane/app/control.h"
#include "dataplane/app/endpoint.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

constexpr size_t kFrame = 62;

std::string destination() { return std::string("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09", 16); }

// An IPv6 packet to fd00::9 by way of the first device, in a pcap file of `count` copies.
void write_pcap(const std::string& path, uint32_t count) {
  std::ofstream out(path, std::ios::binary);
  const uint32_t header[] = {0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1};
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  uint8_t frame[kFrame] = {0x02, 0x13, 0xd3, 0,    0, 0, 2, 0, 0, 0,  0,
                           1,    0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 59, 64};
  frame[22] = 0xfd;
  frame[37] = 1;
  std::memcpy(frame + 38, destination().data(), 16);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t record[] = {i, 0, sizeof frame, sizeof frame};
    out.write(reinterpret_cast<const char*>(record), sizeof record);
    out.write(reinterpret_cast<const char*>(frame), sizeof frame);
  }
}

class SwitchTest : public testing::Test {
 protected:
  static inline int number_ = 0;
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("l3dml_switch" + std::to_string(number_++));

  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // in.pcap -> a:0, a:4 - b:4, b:0 -> out.pcap
  std::unique_ptr<Switch> build(int workers) {
    const std::string n = std::to_string(number_);
    const auto config =
        parse_config("workers: " + std::to_string(workers) +
                         "\nbuffers: 2047\neal: [--no-huge, -m, \"128\"]\ndevices:\n"
                         "  - name: a\n    slots: 64\n    ports: [{port: 0, name: in, dpdk: \"net_pcap_i" +
                         n + ",rx_pcap=" + file("in.pcap") +
                         "\"}]\n"
                         "  - name: b\n    slots: 64\n    ports: [{port: 0, name: out, dpdk: \"net_pcap_o" +
                         n + ",tx_pcap=" + file("out.pcap") +
                         "\"}]\n"
                         "links:\n  - {name: wan, ends: [a:4, b:4], delay: 1ms}\n",
                     "test.yaml");
    EXPECT_TRUE(config.ok()) << config.status();
    auto built = Switch::build(*config);
    EXPECT_TRUE(built.ok()) << built.status();
    return built.ok() ? *std::move(built) : nullptr;
  }
  static void route(pipeline::Device& device, uint8_t port, uint8_t next_device) {
    tna::Entry entry;
    entry.key.resize(1);
    entry.key[0].value = destination();
    entry.action = "Ingress.forwarder.forward";
    const char dmac[6] = {0x02, 0x13, '\xd3', 0, 0, static_cast<char>(next_device)};
    entry.params = {std::string{0, static_cast<char>(port)}, std::string(dmac, 6)};
    device.table("pipe.Ingress.forwarder.host6")->insert(1, entry);
  }
  // Waits, in rounds of the workers, for a figure.
  static bool eventually(Switch& the_switch, const std::function<bool(const json&)>& done) {
    for (int i = 0; i < 20'000; ++i) {
      if (done(the_switch.stats())) return true;
      std::this_thread::yield();
    }
    return false;
  }
};

class SwitchWorkers : public SwitchTest, public testing::WithParamInterface<int> {};

TEST_P(SwitchWorkers, carries_packets_over_devices_and_link) {
  write_pcap(file("in.pcap"), 100);
  auto the_switch = build(GetParam());
  ASSERT_NE(the_switch, nullptr);
  EXPECT_EQ(the_switch->workers().size(), static_cast<size_t>(GetParam()));
  route(*the_switch->members()[0].device, 4, 1);
  route(*the_switch->members()[1].device, 0, 7);
  the_switch->start();
  EXPECT_TRUE(eventually(*the_switch, [](const json& s) {
    return s["devices"][1]["ports"][0]["tx_packets"] == 100;
  })) << the_switch->stats().dump(1);
  const json stats = the_switch->stats();
  EXPECT_EQ(stats["links"][0]["name"], "wan");
  EXPECT_EQ(stats["links"][0]["forward"]["delivered_packets"], 100);
  EXPECT_EQ(stats["links"][0]["backward"]["offered_packets"], 0);
  EXPECT_EQ(stats["between_workers"].size(), GetParam() == 1 ? 0u : 1u);
  the_switch->stop();
  the_switch.reset();
  EXPECT_EQ(std::filesystem::file_size(file("out.pcap")), 24u + 100 * (16 + kFrame));
}

INSTANTIATE_TEST_SUITE_P(All, SwitchWorkers, testing::Values(1, 2));

TEST_F(SwitchTest, obeys_its_endpoint) {
  write_pcap(file("in.pcap"), 1);
  auto the_switch = build(1);
  ASSERT_NE(the_switch, nullptr);
  the_switch->start();
  int quits = 0;
  Control control(*the_switch, [&] { ++quits; });
  const auto error = [&](const std::string& line) {
    return json::parse(control.handle_line(line)).value("error", "");
  };
  EXPECT_EQ(control.handle_line(R"({"op":"ping"})"), R"({"ok":true})");
  EXPECT_EQ(error("hello"), "a request is one JSON object on one line");
  EXPECT_EQ(error(R"({"op":"dance"})"),
            "\"op\" must be one of stats, link, port, capture, trace, ping, quit");

  EXPECT_EQ(
      error(
          R"({"op":"link","name":"wan","direction":"forward","set":{"rate":"5Mbit","loss":{"mean":"1%","burst":4}}})"),
      "");
  const json link = the_switch->stats()["links"][0];
  EXPECT_EQ(link["forward"]["rate_bps"], 5'000'000);
  EXPECT_NEAR(link["forward"]["loss"].get<double>(), 0.01, 1e-9);
  EXPECT_EQ(link["backward"]["rate_bps"], 0);
  EXPECT_EQ(error(R"({"op":"link","name":"lan","set":{"rate":"5Mbit"}})"), "there is no link \"lan\"");
  EXPECT_EQ(error(R"({"op":"link","name":"wan","set":{"rate":"fast"}})"),
            "rate: \"fast\" is not a rate like 100Mbit or 2.5Gbit");
  EXPECT_EQ(error(R"({"op":"link","name":"wan"})"),
            "\"set\" must be an object of link parameters, like {\"rate\": \"50Mbit\"}");

  EXPECT_EQ(error(R"({"op":"port","device":"a","port":0,"up":false})"), "");
  EXPECT_EQ(the_switch->stats()["devices"][0]["ports"][0]["up"], false);
  EXPECT_EQ(error(R"({"op":"port","device":"a","port":9,"up":false})"), "device a has no port 9");
  EXPECT_EQ(error(R"({"op":"port","device":"c","port":0,"up":false})"), "there is no device \"c\"");

  const json start = {{"op", "capture"}, {"device", "b"}, {"port", 4}, {"file", file("b4.pcapng")}};
  EXPECT_EQ(control.handle(start)["ok"], true);
  EXPECT_EQ(error(R"({"op":"capture","device":"b","port":4,"stop":true})"), "");
  EXPECT_EQ(error(R"({"op":"capture","device":"b","port":4,"stop":true})"), "port b:4 is not being captured");
  EXPECT_GT(std::filesystem::file_size(file("b4.pcapng")), 0u);
  const json trace = {
      {"op", "trace"}, {"device", "a"}, {"file", file("a.log")}, {"format", "json"}, {"port", 0}};
  EXPECT_EQ(control.handle(trace)["ok"], true);
  EXPECT_EQ(error(R"({"op":"trace","device":"a","stop":true})"), "");
  EXPECT_EQ(error(R"({"op":"trace","device":"a"})"),
            "give \"file\" to start a trace or \"stop\": true to end it");
  EXPECT_EQ(error(R"({"op":"quit"})"), "");
  EXPECT_EQ(quits, 1);
}

TEST_F(SwitchTest, capture_tells_what_the_pipeline_did) {
  write_pcap(file("in.pcap"), 3);
  auto the_switch = build(1);
  ASSERT_NE(the_switch, nullptr);
  route(*the_switch->members()[0].device, 4, 1);
  ASSERT_TRUE(the_switch->start_capture("a", 0, file("a0.pcapng"), true).ok());
  EXPECT_FALSE(the_switch->start_capture("a", 0, file("other.pcapng")).ok());
  EXPECT_EQ(the_switch->start_trace("a", file("a.log"), TraceFile::Format::text, {}).message(),
            "device a is being traced already, by a file or a capture: stop that first");
  the_switch->start();
  EXPECT_TRUE(
      eventually(*the_switch, [](const json& s) { return s["devices"][0]["ports"][0]["rx_packets"] == 3; }));
  ASSERT_TRUE(the_switch->stop_capture("a", 0).ok());
  std::ifstream in(file("a0.pcapng"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  size_t told = 0;
  for (size_t at = 0; (at = bytes.find("Ingress.forwarder: forward by port 4", at)) != std::string::npos;
       ++at)
    ++told;
  EXPECT_EQ(told, 3u) << "each frame's comment says what became of it";
  ASSERT_TRUE(the_switch->start_trace("a", file("a.log"), TraceFile::Format::text, {}).ok());
  ASSERT_TRUE(the_switch->stop_trace("a").ok());
}

TEST(Endpoint, answers_lines_and_the_status_port) {
  auto control = Listener::open("127.0.0.1:0");
  auto status = Listener::open("127.0.0.1:0");
  ASSERT_TRUE(control.ok() && status.ok());
  const std::string address = (*control)->address(), status_address = (*status)->address();
  Endpoint endpoint(*std::move(control), *std::move(status),
                    [](const std::string& line) { return "<" + line + ">"; });
  EXPECT_EQ(*ask(address, "one"), "<one>");
  EXPECT_EQ(*ask(address, "two"), "<two>");
  EXPECT_FALSE(ask(status_address, "x").ok());  // sends 1 and hangs up, which is no line
}

TEST(Endpoint, unix_socket_replaces_one_that_nobody_serves) {
  const std::string path = testing::TempDir() + "l3dml_control.sock";
  std::ofstream(path).put('x');
  std::filesystem::remove(path);
  for (int i = 0; i < 2; ++i) {
    auto listener = Listener::open("unix:" + path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_EQ(Listener::open("unix:" + path).status().message(),
              "cannot listen on unix:" + path + ": Address already in use (is another switch running?)");
    Endpoint endpoint(*std::move(listener), nullptr, [](const std::string&) { return "fine"; });
    EXPECT_EQ(*ask("unix:" + path, "x"), "fine");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(Listener::open("nowhere").status().message(),
            "\"nowhere\" is not HOST:PORT (numbers) or unix:PATH");
}

}  // namespace
}  // namespace l3dml::app
