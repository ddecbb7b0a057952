#include "tools/lab/report.h"

#include <fstream>

#include "gtest/gtest.h"
#include "tools/lab/html.h"
#include "tools/lab/workers.h"

namespace l3dml::lab {
namespace {

TEST(Report, has_the_one_shape) {
  Report report{"l3dml-lab", "run x.yaml", {}};
  report.add("step_time", 0.5, "s", {{"backend", "l3dml"}}, {{0.4, 0.6}});
  report.add("weights_sha256", "abc", "", {{"backend", "l3dml"}});
  const auto json = to_json(report);
  for (const char* key : {"program", "version", "commit", "machine", "command", "rows"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["rows"][0]["value"], 0.5);
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

TEST(Chart, numbers_are_short) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(0.051234), "0.0512");
  EXPECT_EQ(number(1234567), "1234567");
  EXPECT_EQ(number(2.5), "2.5");
}

TEST(Html, shows_rows_and_runs_and_escapes) {
  Report report{"l3dml-lab", "run <x>.yaml", {}};
  report.add("accuracy", 0.97, "", {{"backend", "l3dml"}});
  const std::string file = testing::TempDir() + "/l3dml_report_test.html";
  ASSERT_TRUE(write_html(report, "two & two", {{"l3dml", {1, 2}, {0.5, 0.6}, {3, 2}}}, file).ok());
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(page.find("two &amp; two"), std::string::npos);
  EXPECT_NE(page.find("run &lt;x&gt;.yaml"), std::string::npos);
  EXPECT_NE(page.find("<td>accuracy"), std::string::npos);
  EXPECT_NE(page.find("polyline"), std::string::npos);
}

TEST(Progress, is_the_last_line_that_says_so) {
  EXPECT_EQ(last_progress("hello\nprogress 1/9 loss 2\nprogress 3/9 loss 1.5\nbye"),
            (Progress{3, 9, "loss 1.5"}));
  EXPECT_EQ(last_progress("progress 1/9"), (Progress{1, 9, ""}));
  EXPECT_EQ(last_progress("progress x/9 \nprogress 1/0 y"), Progress{});
}

}  // namespace
}  // namespace l3dml::lab
