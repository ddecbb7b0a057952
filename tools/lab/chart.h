// Small charts as inline SVG: no script, no file beside the page.
#pragma once

#include <string>
#include <vector>

namespace l3dml::lab {

struct Series {
  std::string name;
  std::vector<double> values;  // y over 1, 2, 3, ...
};

std::string escape_html(const std::string& text);
std::string line_chart(const std::string& title, const std::string& x_label, const std::string& unit,
                       const std::vector<Series>& series);
std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<std::pair<std::string, double>>& bars);
std::string number(double value);  // three significant digits, no exponent for everyday sizes

}  // namespace l3dml::lab
