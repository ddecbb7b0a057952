#include <fstream>

#include "gtest/gtest.h"
#include "tools/lab/html.h"
#include "tools/lab/workers.h"

namespace l3dml::lab {
namespace {

TEST(Html, shows_rows_and_runs_and_escapes) {
  report::Report report{"l3dml-lab", "run <x>.yaml", {}};
  report.add({"accuracy", 0.97, "", {{"backend", "l3dml"}}});
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
