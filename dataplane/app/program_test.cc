#include "dataplane/app/program.h"

#include <gtest/gtest.h>

namespace l3dml::app {
namespace {

std::string refusal(const std::string& device) {
  const auto config = parse_config("devices:\n  - {name: paris, " + device + "}\n", "test.yaml");
  return config.ok() ? "accepted" : std::string(config.status().message());
}

TEST(Budget, a_device_that_stands_for_a_chip_must_fit_it) {
  EXPECT_EQ(refusal("lanes: 256"), "accepted") << "no chip, no limit";
  EXPECT_EQ(refusal("budget: tofino1, lanes: 64, ring_entries: 65536"), "accepted");
  const std::string lanes = refusal("budget: tofino1, lanes: 256, ring_entries: 65536");
  EXPECT_NE(lanes.find("device paris asks for more than a pipe of tofino1 has: stateful ALUs: 137 of 48"),
            std::string::npos)
      << lanes;
  const std::string slots = refusal("budget: tofino1, lanes: 64, ring_entries: 65536, slots: 131072");
  EXPECT_NE(slots.find("map RAM blocks of one stage"), std::string::npos) << slots;
  EXPECT_NE(refusal("budget: tofino1, lanes: 64").find("register Egress.segment_sender.ring of 262144 cells"),
            std::string::npos)
      << "the ring of the software switch is larger than a stage";
  EXPECT_NE(refusal("budget: tofino9").find("budget is none, tofino1 or tofino2"), std::string::npos);
}

TEST(Budget, shards_multiply_what_a_pipe_holds) {
  const tna::PipeSizes sizes =
      sizes_of({.slots = 4096, .lanes = 128, .neighbors = 256, .shards_per_pipe = 4, .ring_entries = 8192});
  EXPECT_EQ(sizes.parameters.at("SLOTS"), 16384u);
  EXPECT_EQ(sizes.parameters.at("NEIGHBORS"), 1024u);
  EXPECT_EQ(sizes.parameters.at("RING_ENTRIES"), 8192u);
  EXPECT_EQ(sizes.lanes, 128u);
}

}  // namespace
}  // namespace l3dml::app
