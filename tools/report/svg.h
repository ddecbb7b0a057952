// Line charts over numbers as SVG text, for pages and for files by themselves.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace l3dml::report {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Axes {
  std::string title, x, y;
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;  // equal: from the points
};

// Curves as lines, then dots as points.
std::string svg_chart(const Axes& axes, const std::vector<Curve>& curves,
                      const std::vector<Curve>& dots = {});
std::string html_page(const std::string& title, const std::string& body);

}  // namespace l3dml::report
