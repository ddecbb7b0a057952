#include "tools/report/report.h"

#include <gtest/gtest.h>

namespace l3dml::report {
namespace {

TEST(Report, has_the_one_shape) {
  Report report{"l3dml-lab", "run x.yaml", {}};
  report.add({"step_time", 0.5, "s", {{"backend", "l3dml"}}, 0.4, {{0.4, 0.6}}});
  report.add({"weights_sha256", "abc", "", {{"backend", "l3dml"}}});
  const auto json = to_json(report);
  for (const char* key : {"program", "version", "commit", "machine", "command", "rows"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["rows"][0]["value"], 0.5);
  EXPECT_EQ(json["rows"][0]["target"], 0.4);
  EXPECT_EQ(json["rows"][0]["spread"][1], 0.6);
  EXPECT_EQ(json["rows"][1]["value"], "abc");
  EXPECT_FALSE(json["rows"][1].contains("spread"));
  EXPECT_EQ(json["rows"][1]["group"]["backend"], "l3dml");
}

TEST(Report, median_is_between_the_middle_two) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace l3dml::report
