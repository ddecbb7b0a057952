// Our meter beside DPDK's: the same traffic gets the same share of each colour. DPDK's counts in cycles and
// fills its buckets in steps, so single packets may differ.
#include "dataplane/tna/meter.h"

#include <random>
#include <string>
#include <vector>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_meter.h>

#include "gtest/gtest.h"

namespace l3dml::tna {
namespace {

Color color_of(rte_color color) {
  return color == RTE_COLOR_GREEN ? Color::green : color == RTE_COLOR_YELLOW ? Color::yellow : Color::red;
}

class MeterBesideDpdk : public testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    std::string arguments[] = {"meter_test",     "--no-huge", "--no-pci", "--no-shconf",
                               "--no-telemetry", "-m",        "32",       "--log-level=error"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    ASSERT_GE(rte_eal_init(static_cast<int>(argv.size()), argv.data()), 0);
  }
};

TEST_P(MeterBesideDpdk, gives_the_same_share_of_each_colour) {
  const bool aware = GetParam();
  rte_meter_trtcm_params parameters{};
  parameters.cir = 1'000'000, parameters.pir = 2'000'000, parameters.cbs = 20'000, parameters.pbs = 40'000;
  rte_meter_trtcm_profile profile;
  rte_meter_trtcm theirs;
  ASSERT_EQ(rte_meter_trtcm_profile_config(&profile, &parameters), 0);
  ASSERT_EQ(rte_meter_trtcm_config(&theirs, &profile), 0);
  const uint64_t begin = theirs.time_tc;
  const double cycles_per_ns = static_cast<double>(rte_get_tsc_hz()) / 1e9;
  Meter ours;
  ours.configure({.cir = 1'000'000, .pir = 2'000'000, .cbs = 20'000, .pbs = 40'000}, 0);

  std::mt19937 random(5);
  int counts[2][4] = {};
  int64_t now_ns = 0;
  constexpr int kPackets = 200'000;
  for (int i = 0; i < kPackets; ++i) {
    now_ns += static_cast<int64_t>(random() % 600'000);  // 2.5 MB/s on the average, in bursts
    const uint32_t bytes = 64 + random() % 1400;
    const auto before = static_cast<rte_color>(aware ? random() % 3 : 0);
    const uint64_t cycles = begin + static_cast<uint64_t>(static_cast<double>(now_ns) * cycles_per_ns);
    const rte_color color = aware
                                ? rte_meter_trtcm_color_aware_check(&theirs, &profile, cycles, bytes, before)
                                : rte_meter_trtcm_color_blind_check(&theirs, &profile, cycles, bytes);
    ++counts[0][static_cast<int>(color_of(color))];
    ++counts[1][static_cast<int>(ours.execute(now_ns, bytes, color_of(before)))];
  }
  for (const Color color : {Color::green, Color::yellow, Color::red}) {
    const int at = static_cast<int>(color);
    EXPECT_GT(counts[0][at], kPackets / 100) << "the traffic shows every colour";
    EXPECT_NEAR(counts[0][at], counts[1][at], kPackets / 200.0) << "colour " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Colours, MeterBesideDpdk, testing::Values(false, true),
                         [](const auto& p) { return p.param ? "aware" : "blind"; });

}  // namespace
}  // namespace l3dml::tna
