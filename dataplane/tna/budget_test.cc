#include "dataplane/tna/budget.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace l3dml::tna {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ProgramResources our_program() {
  std::ifstream in(L3DML_RESOURCES);
  std::ostringstream text;
  text << in.rdbuf();
  return *ProgramResources::parse(text.str());
}

size_t stage_of(const Budget& budget, const std::string& name) {
  for (size_t i = 0; i < budget.stages.size(); ++i)
    for (const std::string& here : budget.stages[i].names)
      if (here == name) return i;
  ADD_FAILURE() << name << " lies nowhere";
  return 0;
}

TEST(Budget, our_program_fits_tofino1_with_64_lanes) {
  const Budget budget = place(our_program(), kTofino1);
  EXPECT_TRUE(budget.fits()) << budget.text();
  EXPECT_EQ(budget.stages.size(), 12u);
  EXPECT_EQ(budget.total().stateful_alus, 41u);
  EXPECT_EQ(budget.phv_words, 64u);
  for (const StageBudget& stage : budget.stages) {
    EXPECT_LE(stage.use.stateful_alus, 4u);
    EXPECT_LE(stage.use.map_rams, 48u);
    EXPECT_LE(stage.use.srams, 80u);
    EXPECT_LE(stage.use.tcams, 24u);
    EXPECT_LE(stage.use.logical_tables, 16u);
  }
}

TEST(Budget, what_reads_a_field_lies_behind_what_wrote_it) {
  const Budget budget = place(our_program(), kTofino1);
  const size_t stamp = stage_of(budget, "Ingress.slot_state.stamps");
  const size_t bitmap = stage_of(budget, "Ingress.slot_state.bitmaps");
  EXPECT_LT(stage_of(budget, "Ingress.admission.admission"), stamp);
  EXPECT_LT(stamp, bitmap);
  EXPECT_LT(bitmap, stage_of(budget, "Ingress.aggregator.sum00"));
  EXPECT_LT(stage_of(budget, "Ingress.slot_state.counts"), stage_of(budget, "Ingress.next_step.next_step"));
}

TEST(Budget, says_how_often_packets_go_through) {
  std::map<std::string, unsigned> passes;
  for (const PacketPasses& p : our_program().passes) passes[p.packet] = p.passes;
  EXPECT_EQ(passes["up"], 2u);
  EXPECT_EQ(passes["down"], 1u);
  EXPECT_EQ(passes["probe"], 2u);
  EXPECT_EQ(passes["nack"], 3u);
}

TEST(Budget, fits_tofino2_as_well) {
  const Budget budget = place(our_program(), kTofino2);
  EXPECT_TRUE(budget.fits()) << budget.text();
}

TEST(Budget, without_a_chip_everything_has_room) {
  const Budget budget = place(our_program(), kNoChip, {.parameters = {{"SLOTS", 1u << 20}}, .lanes = 320});
  EXPECT_TRUE(budget.fits());
  EXPECT_LE(budget.stages.size(), 12u) << "the longest chain of what depends on each other";
  EXPECT_EQ(find_chip("tofino1")->stages, 12u);
  EXPECT_EQ(find_chip("tofino9"), nullptr);
}

TEST(Budget, refuses_256_lanes_and_names_what_is_short) {
  for (const Chip* chip : {&kTofino1, &kTofino2}) {
    const Budget budget = place(our_program(), *chip, {.parameters = {}, .lanes = 256});
    ASSERT_FALSE(budget.fits());
    EXPECT_THAT(budget.problems[0], HasSubstr("stateful ALUs: 137 of"));
    EXPECT_THAT(budget.text(), HasSubstr("32-bit containers of the packet header vector: 256 of 64"));
  }
}

TEST(Budget, refuses_more_slots_than_a_stage_has_memory_for) {
  EXPECT_TRUE(place(our_program(), kTofino1, {.parameters = {{"SLOTS", 8192}}}).fits());
  const Budget budget = place(our_program(), kTofino1, {.parameters = {{"SLOTS", 131072}}});
  ASSERT_FALSE(budget.fits());
  EXPECT_THAT(budget.problems[0], HasSubstr("map RAM blocks of one stage: 65 of 48 for register"));
  EXPECT_THAT(budget.problems[0], HasSubstr("131072 cells"));
  // Each lane register would still fit a stage, but not four of them, and there are twelve stages.
  EXPECT_FALSE(place(our_program(), kTofino1, {.parameters = {{"SLOTS", 32768}}}).fits());
}

TEST(Budget, refuses_a_ring_that_no_stage_holds) {
  const Budget budget = place(our_program(), kTofino1, {.parameters = {{"RING_ENTRIES", 262144}}});
  ASSERT_FALSE(budget.fits());
  EXPECT_THAT(budget.problems[0], HasSubstr("register Egress.segment_sender.ring of 262144 cells"));
}

TEST(Budget, refuses_a_table_that_is_too_large) {
  ProgramResources program = our_program();
  for (Node& node : program.nodes)
    if (node.name == "Ingress.admission.admission") node.entries = 65536;
  const Budget budget = place(program, kTofino1);
  ASSERT_FALSE(budget.fits());
  EXPECT_THAT(budget.problems[0], StartsWith("TCAM blocks: "));
}

TEST(Budget, names_what_finds_no_stage) {
  ProgramResources program = our_program();
  for (unsigned i = 0; i < 12; ++i) {  // a chain of tables, each reading what the one before it wrote
    Node node{.name = "Ingress.chain" + std::to_string(i), .actions = 1};
    node.after = {{program.nodes.size() - 1, 1}};
    program.nodes.push_back(node);
  }
  const Budget budget = place(program, kTofino1);
  ASSERT_FALSE(budget.fits());
  EXPECT_THAT(budget.problems[0], HasSubstr("stages: no room within 12 for "));
}

TEST(ProgramResources, refuses_what_it_cannot_use) {
  EXPECT_THAT(std::string(ProgramResources::parse("{").status().message()), HasSubstr("cannot be read"));
  EXPECT_THAT(std::string(ProgramResources::parse("{}").status().message()), HasSubstr("program"));
  const char* text =
      R"({"program":"x","lanes":64,"parameters":{},"registers":[{"name":"r","bits":32,"cells":"MANY"}],)"
      R"("counters":[],"nodes":[],"phv":[],"passes":[]})";
  EXPECT_THAT(std::string(ProgramResources::parse(text).status().message()),
              HasSubstr("r has the unknown size MANY"));
}

}  // namespace
}  // namespace l3dml::tna
