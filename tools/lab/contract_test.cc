// What control/ writes is what devices know: names, kinds and widths of bf-rt.json, numbers of the data
// plane.
#include <filesystem>
#include <fstream>
#include <map>

#include "control/api/controller.h"
#include "control/api/convert.h"
#include "control/api/member_config.h"
#include "control/app/config.h"
#include "control/jobs/compiler.h"
#include "control/jobs/program.h"
#include "control/jobs/testing.h"
#include "control/routing/routes.h"
#include "dataplane/base/drop_reason.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/address.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/host/job_config.h"
#include "tools/lab/controller_process.h"
#include "tools/lab/scenario.h"

namespace l3dml::lab {
namespace {

using namespace control;  // NOLINT: the tested
using nlohmann::json;

const json* find(const json& list, const std::string& name) {
  for (const json& item : list)
    if (item["name"] == name) return &item;
  return nullptr;
}

size_t bytes_of_type(const json& field) {
  return field["type"].contains("width") ? (field["type"]["width"].get<size_t>() + 7) / 8
                                         : 4;  // $MATCH_PRIORITY: uint32
}

void check(const json& tables, const Entry& entry) {
  const json* table = find(tables, entry.key.table);
  ASSERT_TRUE(table) << text(entry);
  for (const Match& m : entry.key.matches) {
    const json* field = find((*table)["key"], m.field);
    ASSERT_TRUE(field) << m.field << " of " << text(entry);
    EXPECT_EQ(m.value.size(), bytes_of_type(*field)) << text(entry);
    const std::map<std::string, MatchKind> kinds{
        {"Exact", MatchKind::exact}, {"Ternary", MatchKind::ternary}, {"LPM", MatchKind::lpm}};
    EXPECT_EQ(kinds.at((*field)["match_type"]), m.kind) << m.field << " of " << text(entry);
  }
  const json* action = find((*table)["action_specs"], entry.data.action);
  ASSERT_TRUE(action) << text(entry);
  ASSERT_EQ((*action)["data"].size(), entry.data.params.size()) << text(entry);
  for (size_t i = 0; i < entry.data.params.size(); ++i) {
    EXPECT_EQ((*action)["data"][i]["name"], entry.data.params[i].first) << text(entry);
    EXPECT_EQ(bytes_of_type((*action)["data"][i]), entry.data.params[i].second.size()) << text(entry);
  }
}

TEST(Contract, entries_are_those_of_the_programs_schema) {
  const json schema = json::parse(std::ifstream(L3DML_BF_RT));
  control::testing::TwoSites n;
  std::vector<DeviceResources> devices(n.t.sites().size(), DeviceResources(Capability{}));
  JobRequest request;
  request.members = n.members;
  request.stripes = {{n.west, 1, {}}, {n.east, 1, {}}};
  const JobPlan plan = *plan_job(n.t, request, &devices);
  size_t count = 0;
  for (const auto& lists : {compile_job(n.t, plan), baseline_routes(n.t)})
    for (const DeviceEntries& device : lists)
      for (const Entry& entry : device.entries) check(schema["tables"], entry), ++count;
  EXPECT_GT(count, 100u);
}

TEST(Contract, numbers_are_those_of_the_data_plane) {
  using base::DropReason;
  EXPECT_EQ(static_cast<int>(Reject::unknown_job), static_cast<int>(DropReason::unknown_job));
  EXPECT_EQ(static_cast<int>(Reject::wrong_epoch), static_cast<int>(DropReason::wrong_epoch));
  EXPECT_EQ(static_cast<int>(Reject::wrong_child), static_cast<int>(DropReason::wrong_child));
  EXPECT_EQ(static_cast<int>(Reject::wrong_source), static_cast<int>(DropReason::wrong_source));
  EXPECT_EQ(static_cast<int>(Reject::wrong_slot), static_cast<int>(DropReason::wrong_slot));
  EXPECT_EQ(static_cast<int>(PacketType::probe), static_cast<int>(wire::Type::probe));
  EXPECT_EQ(kFlagDown, wire::kFlagDown);
  EXPECT_EQ(control::kUdpPort, base::kUdpPort);
  EXPECT_EQ(kSwitchSourcePort, base::kUdpSourcePort);
  EXPECT_EQ(kMaxChildren, static_cast<int>(base::kMaxChildren));
  EXPECT_EQ(kHeadBytes, static_cast<int>(wire::kHeadSize));
}

TEST(Contract, addresses_are_those_of_the_wire) {
  EXPECT_EQ(control::aggregation_address(0xfd00'0001'0002, 0x0103, 4, 0x1234, 7),
            wire::aggregation_address(0xfd00'0001'0002, 0x0103, 4, 0x1234, 7));
  EXPECT_EQ(control::host_address(0xfd00'0001'0002, 0x0103, 0x12345),
            wire::host_address(0xfd00'0001'0002, 0x0103, 0x12345));
}

TEST(MemberConfig, is_what_the_host_library_accepts) {
  control::testing::TwoSites n;
  std::vector<DeviceResources> devices(n.t.sites().size(), DeviceResources(Capability{}));
  JobRequest request;
  request.name = "two";
  request.members = n.members;
  request.stripes = {{n.west, 3, {}}, {n.east, 1, {}}};
  const JobPlan plan = *plan_job(n.t, request, &devices);
  host::JobConfig config;
  for (int rank = 0; rank < 4; ++rank) {
    const auto parsed = host::parse_job_config(member_config(n.t, plan, rank, 30, 1500));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    config = *parsed;
    EXPECT_TRUE(host::validate(config).ok()) << host::validate(config);
    EXPECT_EQ(config.rank, static_cast<uint32_t>(rank));
    EXPECT_DOUBLE_EQ(config.stripes[0].share, 0.75);
  }
  EXPECT_EQ(wire::format_address(config.stripes[0].aggregator), "fd4c:3344:4d4c:102:100:1:1:0");
  EXPECT_EQ(wire::format_address(config.stripes[0].result_source), "fd4c:3344:4d4c:102:100:1:fffe:0");
  EXPECT_EQ(wire::format_address(config.stripes[0].local_address), "fd4c:3344:4d4c:102::2");
}

// The switch is told by the lab what the controller believes: the two must not differ.
TEST(ControllerFile, makes_the_controller_see_the_labs_own_network) {
  const std::string store = ::testing::TempDir() + "/l3dml_lab_contract.db";
  for (const auto& item : std::filesystem::directory_iterator(L3DML_LABS)) {
    const auto lab = load_scenario(item.path().string());
    ASSERT_TRUE(lab.ok()) << lab.status();
    const auto config = parse_config(controller_config(*lab, "127.0.0.1:1", "/tmp"), "controller.yaml");
    ASSERT_TRUE(config.ok()) << item.path() << ": " << config.status();
    for (const char* more : {"", "-wal", "-shm"}) std::filesystem::remove(store + more);
    Controller::Options options;
    options.connect = [](const SiteRecord&) { return absl::UnavailableError("no switch in this test"); };
    options.now_ns = [] { return int64_t{0}; };
    options.unix_time_s = [] { return 0.0; };
    const auto controller = *Controller::create(*open_store(store), options);
    ASSERT_TRUE(controller->add_network(config->network).ok());
    const Topology seen = controller->topology(), &told = lab->topology;
    ASSERT_EQ(seen.sites().size(), told.sites().size());
    ASSERT_EQ(seen.hosts().size(), told.hosts().size());
    ASSERT_EQ(seen.links().size(), told.links().size());
    for (size_t i = 0; i < told.sites().size(); ++i) {
      const Site &a = seen.sites()[i], &b = told.sites()[i];
      EXPECT_EQ(std::tuple(a.name, a.locator, a.mac, a.aggregates),
                std::tuple(b.name, b.locator, b.mac, b.aggregates));
      EXPECT_EQ(controller->sites()[i].device_id, b.device_id);
    }
    for (size_t i = 0; i < told.hosts().size(); ++i) {
      const Host &a = seen.hosts()[i], &b = told.hosts()[i];
      EXPECT_EQ(std::tuple(a.name, a.site, a.number, a.port, a.mac),
                std::tuple(b.name, b.site, b.number, b.port, b.mac));
      EXPECT_DOUBLE_EQ(a.rate_bps, b.rate_bps);
      EXPECT_NEAR(a.delay_s, b.delay_s, 1e-9);
    }
    for (size_t i = 0; i < told.links().size(); ++i) {
      const Link &a = seen.links()[i], &b = told.links()[i];
      EXPECT_EQ(std::tuple(a.name, a.a, a.b, a.port_a, a.port_b),
                std::tuple(b.name, b.a, b.b, b.port_a, b.port_b));
      EXPECT_DOUBLE_EQ(a.rate_bps, b.rate_bps);
      EXPECT_NEAR(a.delay_s, b.delay_s, 1e-9);
      EXPECT_NEAR(a.loss, b.loss, 1e-9);
    }
  }
}

TEST(JobRequest, asks_for_what_the_file_says) {
  const auto lab = parse_scenario(
      "name: two\nmtu: 1400\nsites: {west: {workers: 1}, east: {workers: [far]}}\nlinks: [{between: [west, "
      "east]}]\njob: {lanes: 320, roots: {west: 2, east: 1}, inner: false, timeout: 7, "
      "lease: 3, on_loss: continue}\n",
      "x.yaml");
  ASSERT_TRUE(lab.ok()) << lab.status();
  const JobSpecification asked = from_proto(job_request(*lab));
  EXPECT_EQ(asked.name, "two");
  EXPECT_EQ(asked.hosts, (std::vector<std::string>{"west0", "far"}));
  EXPECT_EQ(asked.roots, (std::vector<std::pair<std::string, double>>{{"west", 2}, {"east", 1}}));
  EXPECT_EQ(std::tuple(asked.lanes, asked.timeout_s, asked.lease_s, asked.mtu, asked.inner, asked.stripes),
            std::tuple(320u, 7.0, 3.0, 1400u, false, 0u));
  EXPECT_EQ(asked.on_loss, OnLoss::go_on);
}

}  // namespace
}  // namespace l3dml::lab
