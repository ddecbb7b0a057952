#include "tools/report/report.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tools/report/page.h"

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

TEST(Chart, numbers_are_short) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(0.051234), "0.0512");
  EXPECT_EQ(number(1234567), "1234567");
  EXPECT_EQ(number(2.5), "2.5");
}

TEST(Chart, points_lie_where_their_x_says) {
  const std::string svg =
      xy_chart("t", "x", "us", {{1, "one"}, {9, "out of sight"}}, {{"s", {{0, 0}, {1, 5}, {4, 10}}}});
  EXPECT_NE(svg.find("points='64.0,204.0 204.0,118.0 624.0,32.0 '"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">one<"), std::string::npos);
  EXPECT_EQ(svg.find("out of sight"), std::string::npos);
  EXPECT_NE(xy_chart("empty", "x", "", {}, {}).find("</svg>"), std::string::npos);
}

TEST(Page, holds_charts_and_rows_escaped) {
  Report report{"p", "run <x>", {}};
  report.add({"loss", 0.25, "1", {{"lanes", "64 & more"}}});
  const std::string file = testing::TempDir() + "/l3dml_page_test.html";
  ASSERT_TRUE(write_page(report, "a <title>", {"<svg>chart</svg>"}, file).ok());
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const char* part :
       {"a &lt;title&gt;", "run &lt;x&gt;", "<svg>chart</svg>", "<td>loss", "0.25", "64 &amp; more"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_FALSE(write_page(report, "t", {}, "/nonexistent/folder/page.html").ok());
}

}  // namespace
}  // namespace l3dml::report
