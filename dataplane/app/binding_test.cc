#include "dataplane/app/binding.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dataplane/app/program.h"
#include "dataplane/base/heap_pool.h"
#include "dataplane/pipeline/device.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

class Binding : public testing::Test {
 protected:
  void make(const pipeline::DeviceConfig& config) {
    const std::vector<base::PacketPool*> pools(config.pipes, &pool_);
    device_ = pipeline::Device::create(config, pools, &executor_);
  }
  void SetUp() override { make({.slots = 1024, .lanes = 64, .neighbors = 64, .ring_entries = 4096}); }

  json& table(const std::string& name) {
    for (json& t : program_["tables"])
      if (t["name"] == name) return t;
    throw std::out_of_range(name);
  }
  std::string refusal() {
    const auto bound = bind_program(program_.dump(), *device_);
    return bound.ok() ? "bound" : std::string(bound.status().message());
  }
  void expect_refusal(const std::string& name, const std::string& what) {
    const std::string said = refusal();
    EXPECT_NE(said.find(name), std::string::npos) << said;
    EXPECT_NE(said.find(what), std::string::npos) << said;
  }

  base::HeapPool pool_{16};
  pipeline::InlineExecutor executor_;
  std::unique_ptr<pipeline::Device> device_;
  json program_ = json::parse(kProgramJson);
};

TEST_F(Binding, our_description_fits_our_pipeline) { EXPECT_EQ(refusal(), "bound"); }

TEST_F(Binding, the_description_gets_the_sizes_of_the_device) {
  program_ = json::parse(*bind_program(program_.dump(), *device_));
  EXPECT_EQ(table("pipe.Ingress.slot_state.stamp")["size"], 1024);
  EXPECT_EQ(table("pipe.Egress.segment_sender.tx_seq")["size"], 64);
  EXPECT_EQ(table("pipe.Egress.segment_sender.ring")["size"], 4096);
  EXPECT_EQ(table("pipe.Ingress.segment_receiver.missing")["size"], 64);
  EXPECT_EQ(table("pipe.Ingress.admission.admission")["size"], 2048) << "tables keep theirs";
}

TEST_F(Binding, there_is_a_register_for_every_pair_of_lanes) {
  make({.slots = 1024, .lanes = 256});
  const size_t tables = program_["tables"].size();
  program_ = json::parse(*bind_program(program_.dump(), *device_));
  EXPECT_EQ(program_["tables"].size(), tables + 96);
  const json& last = table("pipe.Ingress.aggregator.lanes127");
  EXPECT_EQ(last["data"][0]["singleton"]["name"], "Ingress.aggregator.lanes127.first");
  std::set<uint32_t> ids;
  for (const json& t : program_["tables"])
    EXPECT_TRUE(ids.insert(t["id"].get<uint32_t>()).second) << t["name"];
  // Lane 224 + 31 is the second of the last pair.
  tna::RegisterTwin* twin = device_->register_array("pipe.Ingress.aggregator.lanes127");
  ASSERT_NE(twin, nullptr);
  twin->write(0, 5, {7, 9});
  EXPECT_EQ(twin->read(0, 5), (std::array<uint64_t, 2>{7, 9}));
}

TEST_F(Binding, a_table_that_the_pipeline_lacks_is_named) {
  json other = table("pipe.Ingress.job.job");
  other["name"] = "pipe.Ingress.pacer.rates";
  program_["tables"].push_back(other);
  expect_refusal("pipe.Ingress.pacer.rates", "the pipeline has no such table");
}

TEST_F(Binding, a_register_that_the_description_lacks_is_named) {
  json& tables = program_["tables"];
  for (auto it = tables.begin(); it != tables.end(); ++it)
    if ((*it)["name"] == "pipe.Ingress.exponent.exps") {
      tables.erase(it);
      break;
    }
  expect_refusal("pipe.Ingress.exponent.exps", "the description does not");
}

TEST_F(Binding, a_key_of_another_width_is_named) {
  table("pipe.Egress.replica.replica")["key"][1]["type"]["width"] = 8;
  expect_refusal("pipe.Egress.replica.replica", "key fields of (16, 8) bits, the pipeline has (16, 6)");
}

TEST_F(Binding, another_parameter_or_action_is_named) {
  json& admit = table("pipe.Ingress.admission.admission")["action_specs"][0];
  ASSERT_EQ(admit["name"], "Ingress.admission.admit");
  json spoiled = admit;
  admit["data"].erase(4);
  expect_refusal("pipe.Ingress.admission.admission", "Ingress.admission.admit has parameters of");
  admit = spoiled;
  admit["name"] = "Ingress.admission.let_in";
  expect_refusal("pipe.Ingress.admission.admission", "the pipeline has no action Ingress.admission.let_in");
}

TEST_F(Binding, what_is_no_description_is_refused) {
  EXPECT_NE(std::string(bind_program("{", *device_).status().message()).find("cannot be read"),
            std::string::npos);
  EXPECT_NE(std::string(bind_program("{}", *device_).status().message()).find("tables"), std::string::npos);
}

}  // namespace
}  // namespace l3dml::app
