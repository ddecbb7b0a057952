#include "tools/report/svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::report {
namespace {

constexpr double kWidth = 640, kHeight = 320, kLeft = 60, kRight = 150, kTop = 30, kBottom = 40;
constexpr const char* kColors[] = {"#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97", "#c17c00",
                                   "#4f6d7a", "#00a0a0", "#a05000", "#606060"};

double round_step(double span) {
  const double raw = span / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

void spread(double& low, double& high, const std::vector<Curve>& curves, bool of_x) {
  if (low != high) return;
  low = 1e300;
  high = -1e300;
  for (const Curve& c : curves)
    for (const auto& [x, y] : c.points) {
      low = std::min(low, of_x ? x : y);
      high = std::max(high, of_x ? x : y);
    }
  if (low > high) low = 0, high = 1;
  if (high - low < 1e-12) high = low + 1;
}

std::string text(double x, double y, const std::string& what, const char* anchor) {
  return absl::StrFormat("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor, what);
}

}  // namespace

std::string svg_chart(const Axes& wanted, const std::vector<Curve>& curves, const std::vector<Curve>& dots) {
  Axes a = wanted;
  std::vector<Curve> all = curves;
  all.insert(all.end(), dots.begin(), dots.end());
  spread(a.x_low, a.x_high, all, true);
  spread(a.y_low, a.y_high, all, false);
  const auto px = [&](double x) {
    return kLeft + (kWidth - kLeft - kRight) * (x - a.x_low) / (a.x_high - a.x_low);
  };
  const auto py = [&](double y) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (y - a.y_low) / (a.y_high - a.y_low);
  };
  std::string svg = absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' viewBox='0 0 %g %g' "
      "font-family='sans-serif' font-size='12'>\n"
      "<rect width='100%%' height='100%%' fill='white'/>\n",
      kWidth, kHeight, kWidth, kHeight);
  absl::StrAppend(&svg, text(kLeft, 18, a.title, "start"),
                  text((kLeft + kWidth - kRight) / 2, kHeight - 8, a.x, "middle"));
  const double dx = round_step(a.x_high - a.x_low), dy = round_step(a.y_high - a.y_low);
  for (double x = std::ceil(a.x_low / dx) * dx; x <= a.x_high + dx * 1e-6; x += dx) {
    absl::StrAppendFormat(&svg, "<line x1='%.1f' x2='%.1f' y1='%g' y2='%g' stroke='#ddd'/>\n", px(x), px(x),
                          kTop, kHeight - kBottom);
    absl::StrAppend(&svg, text(px(x), kHeight - kBottom + 16,
                               absl::StrFormat("%g", std::abs(x) < dx / 1e6 ? 0 : x), "middle"));
  }
  for (double y = std::ceil(a.y_low / dy) * dy; y <= a.y_high + dy * 1e-6; y += dy) {
    absl::StrAppendFormat(&svg, "<line x1='%g' x2='%g' y1='%.1f' y2='%.1f' stroke='#ddd'/>\n", kLeft,
                          kWidth - kRight, py(y), py(y));
    absl::StrAppend(&svg,
                    text(kLeft - 6, py(y) + 4, absl::StrFormat("%g", std::abs(y) < dy / 1e6 ? 0 : y), "end"));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    std::string points;
    for (const auto& [x, y] : all[i].points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const double at_x = px(std::clamp(x, a.x_low, a.x_high)), at_y = py(std::clamp(y, a.y_low, a.y_high));
      if (i < curves.size())
        absl::StrAppendFormat(&points, "%.1f,%.1f ", at_x, at_y);
      else
        absl::StrAppendFormat(&svg, "<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s' fill-opacity='0.6'/>\n",
                              at_x, at_y, color);
    }
    if (i < curves.size())
      absl::StrAppendFormat(&svg, "<polyline points='%s' fill='none' stroke='%s' stroke-width='1.8'/>\n",
                            points, color);
    const double at = kTop + 14 + 16 * static_cast<double>(i);
    absl::StrAppendFormat(&svg, "<line x1='%g' x2='%g' y1='%g' y2='%g' stroke='%s' stroke-width='3'/>\n",
                          kWidth - kRight + 10, kWidth - kRight + 26, at - 4, at - 4, color);
    absl::StrAppend(&svg, text(kWidth - kRight + 30, at, all[i].name, "start"));
  }
  return absl::StrCat(svg, text(kLeft, kTop - 2, a.y, "start"), "</svg>\n");
}

std::string html_page(const std::string& title, const std::string& body) {
  return absl::StrCat("<!doctype html><meta charset='utf-8'><title>", title,
                      "</title><style>body{font:15px sans-serif;max-width:70em;margin:2em "
                      "auto}table{border-collapse:collapse}"
                      "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid "
                      "#ddd}td:first-child,th:first-child{text-align:"
                      "left}</style><h1>",
                      title, "</h1>\n", body);
}

}  // namespace l3dml::report
