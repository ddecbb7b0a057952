#include "tools/report/svg.h"

#include <cmath>

#include <gtest/gtest.h>

namespace l3dml::report {
namespace {

TEST(Svg, draws_every_curve_inside_its_frame) {
  const std::string svg =
      svg_chart({"t", "x", "y"}, {{"one", {{0, 1}, {1, 2}}}, {"two", {}}, {"three", {{0, NAN}}}});
  EXPECT_NE(svg.find("three"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace l3dml::report
