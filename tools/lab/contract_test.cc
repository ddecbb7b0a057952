// What control/ writes is what devices know: names, kinds and widths of bf-rt.json, numbers of the data
// plane.
#include <fstream>
#include <map>

#include "control/jobs/compiler.h"
#include "control/jobs/program.h"
#include "control/jobs/testing.h"
#include "control/routing/routes.h"
#include "dataplane/base/drop_reason.h"
#include "dataplane/base/limits.h"
#include "dataplane/wire/address.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/lab/job_files.h"

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

TEST(JobFiles, are_what_the_host_library_accepts) {
  control::testing::TwoSites n;
  std::vector<DeviceResources> devices(n.t.sites().size(), DeviceResources(Capability{}));
  JobRequest request;
  request.name = "two";
  request.members = n.members;
  request.stripes = {{n.west, 3, {}}, {n.east, 1, {}}};
  const JobPlan plan = *plan_job(n.t, request, &devices);
  for (int rank = 0; rank < 4; ++rank) {
    const host::JobConfig config = job_config(n.t, plan, rank, {});
    EXPECT_TRUE(host::validate(config).ok()) << host::validate(config);
    EXPECT_EQ(config.rank, static_cast<uint32_t>(rank));
    EXPECT_DOUBLE_EQ(config.stripes[0].share, 0.75);
  }
  const host::JobConfig far = job_config(n.t, plan, 3, {});
  EXPECT_EQ(wire::format_address(far.stripes[0].aggregator), "fd4c:3344:4d4c:102:100:1:1:0");
  EXPECT_EQ(wire::format_address(far.stripes[0].result_source), "fd4c:3344:4d4c:102:100:1:fffe:0");
  EXPECT_EQ(wire::format_address(far.stripes[0].local_address), "fd4c:3344:4d4c:102::2");
}

}  // namespace
}  // namespace l3dml::lab
