// Every golden case on the x86 pipeline, once per instruction set of this CPU: the packets of out.pcap byte
// for byte and in order, the counters and the trace. usage: golden_test TESTDATA BF_RT_JSON [gtest options |
// --write [CASE]]
// --write makes out.pcap, counters.json and trace.txt from what happens now, and refuses where out.pcap was
// made by the P4 program and differs on some port: two engines must agree before a capture changes.
#include <algorithm>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "dataplane/kernels/lanes.h"
#include "dataplane/pipeline/testing/golden_case.h"

namespace l3dml::pipeline::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string describe(const std::vector<Captured>& packets) {
  std::string text;
  for (const Captured& packet : packets) {
    text += "port " + std::to_string(packet.port) + " at " + std::to_string(packet.time_ns) + " ns: ";
    constexpr char kHex[] = "0123456789abcdef";
    for (size_t i = 0; i < std::min<size_t>(packet.frame.size(), 86); ++i) {
      const auto byte = static_cast<uint8_t>(packet.frame[i]);
      text += kHex[byte >> 4], text += kHex[byte & 15];
    }
    text += " (" + std::to_string(packet.frame.size()) + " bytes)\n";
  }
  return text;
}

GoldenResult play(const Schema& schema, const fs::path& folder) {
  return run_golden_case(schema, json::parse(read_file(folder / "config.json")),
                         from_pcapng(read_file(folder / "in.pcap")));
}

class GoldenTest : public ::testing::Test {
 public:
  GoldenTest(const Schema& schema, fs::path folder, std::string kernels)
      : schema_(schema), folder_(std::move(folder)), kernels_(std::move(kernels)) {}

  void TestBody() override {
    ASSERT_TRUE(kernels::force_lane_kernels(kernels_));
    ASSERT_EQ(kernels::lane_kernels().name, kernels_);
    const GoldenResult result = play(schema_, folder_);
    kernels::force_lane_kernels("auto");
    const std::vector<Captured> expected = from_pcapng(read_file(folder_ / "out.pcap"));
    EXPECT_TRUE(result.sent == expected) << "sent\n"
                                         << describe(result.sent) << "expected\n"
                                         << describe(expected);
    EXPECT_EQ(result.counters, json::parse(read_file(folder_ / "counters.json")));
    EXPECT_EQ(result.trace, read_file(folder_ / "trace.txt"));
  }

 private:
  const Schema& schema_;
  fs::path folder_;
  std::string kernels_;
};

std::map<uint16_t, std::vector<Captured>> by_port(const std::vector<Captured>& packets) {
  std::map<uint16_t, std::vector<Captured>> ports;
  for (const Captured& packet : packets) ports[packet.port].push_back(packet);
  return ports;
}

bool write_case(const Schema& schema, const fs::path& folder) {
  const GoldenResult result = play(schema, folder);
  const json engines = json::parse(read_file(folder / "config.json")).at("engines");
  const bool by_two = std::find(engines.begin(), engines.end(), "tna") != engines.end();
  if (by_two && by_port(result.sent) != by_port(from_pcapng(read_file(folder / "out.pcap")))) {
    std::cerr << folder.filename().string() << ": x86 sends\n"
              << describe(result.sent) << "the P4 program sends\n"
              << describe(from_pcapng(read_file(folder / "out.pcap")));
    return false;
  }
  write_file(folder / "out.pcap", to_pcapng(result.sent));
  write_file(folder / "counters.json", result.counters.dump(1) + "\n");
  write_file(folder / "trace.txt", result.trace);
  return true;
}

}  // namespace
}  // namespace l3dml::pipeline::testing

int main(int argc, char** argv) {
  using namespace l3dml::pipeline::testing;
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 3) {
    std::cerr << "golden_test: give the folder of the cases and bf-rt.json\n";
    return 2;
  }
  const Schema schema(argv[2]);
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(argv[1]))
    if (fs::exists(entry.path() / "config.json")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (argc > 3 && std::string(argv[3]) == "--write") {
    bool good = true;
    for (const fs::path& folder : folders)
      if (argc == 4 || folder.filename() == argv[4]) good = write_case(schema, folder) && good;
    return good ? 0 : 1;
  }
  const auto kernels = l3dml::kernels::available_lane_kernels();
  for (const fs::path& folder : folders)
    for (size_t k = 0; k < kernels.count; ++k) {
      const std::string name(kernels.items[k]->name);
      ::testing::RegisterTest(
          ("Golden_" + name).c_str(), folder.filename().c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [&schema, folder, name]() -> GoldenTest* { return new GoldenTest(schema, folder, name); });
    }
  return folders.empty() ? 1 : RUN_ALL_TESTS();
}
