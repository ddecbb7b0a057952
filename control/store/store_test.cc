#include "control/store/store.h"

#include <unistd.h>

#include "control/jobs/testing.h"
#include "control/store/plan_json.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

std::string fresh(const char* name) {
  const std::string path = ::testing::TempDir() + "/l3dml_store_" + name + std::to_string(getpid()) + ".db";
  for (const char* more : {"", "-wal", "-shm"}) unlink((path + more).c_str());
  return path;
}

TEST(Store, remembers_in_order_and_forgets_what_is_removed) {
  const std::string path = fresh("order");
  const std::string one = "1", two = "2", three = "3";
  {
    auto store = open_store(path);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->write({{"a", "z", &one}, {"a", "y", &two}, {"b", "x", &three}}).ok());
    ASSERT_TRUE((*store)->write({{"a", "z", &three}, {"b", "x", nullptr}}).ok());
  }
  auto store = open_store("sqlite:" + path);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto records = *(*store)->read("a");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].key, "z");
  EXPECT_EQ(records[0].value, "3") << "an update keeps its place";
  EXPECT_EQ(records[1].key, "y");
  EXPECT_TRUE((*store)->read("b")->empty());
}

TEST(Store, refuses_a_second_controller_and_unknown_kinds) {
  const std::string path = fresh("second");
  auto first = open_store(path);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(open_store(path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(open_store("mysql:x").status().message(), "no store of kind \"mysql\": write sqlite:PATH");
  EXPECT_FALSE(open_store("/no/such/folder/x.db").ok());
}

TEST(PlanJson, gives_back_the_same_plan) {
  testing::TwoSites n;
  std::vector<DeviceResources> devices(n.t.sites().size(), DeviceResources(Capability{}));
  JobRequest request;
  request.name = "j";
  request.members = n.members;
  request.stripes = {{n.west, 2, {}}, {n.east, 1, {}}};
  const JobPlan plan = *plan_job(n.t, request, &devices);
  const auto back = plan_from_json(to_json(plan));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(to_json(*back), to_json(plan));
  EXPECT_EQ(back->stripes[1].tree.aggregators[0].children, plan.stripes[1].tree.aggregators[0].children);
  EXPECT_EQ(plan_from_json("{}").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace l3dml::control
