// Small charts as inline SVG: no script, no file beside the page.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace l3dml::report {

struct Series {
  std::string name;
  std::vector<double> values;  // y over 1, 2, 3, ...
};

std::string escape_html(const std::string& text);
std::string line_chart(const std::string& title, const std::string& x_label, const std::string& unit,
                       const std::vector<Series>& series);
// Points (x, y) in ascending x; `ticks` names places of the x axis.
struct PointSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;
};
std::string xy_chart(const std::string& title, const std::string& x_label, const std::string& unit,
                     const std::vector<std::pair<double, std::string>>& ticks,
                     const std::vector<PointSeries>& series);
std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<std::pair<std::string, double>>& bars);
std::string number(double value);  // three significant digits, no exponent for everyday sizes

}  // namespace l3dml::report
