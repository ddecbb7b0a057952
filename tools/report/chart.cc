#include "tools/report/chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace l3dml::report {
namespace {

constexpr double kWidth = 640, kHeight = 240, kLeft = 64, kRight = 16, kTop = 32, kBottom = 36;
constexpr const char* kColors[] = {"#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97", "#c17c00", "#4f6d7a"};

const char* color(size_t i) { return kColors[i % std::size(kColors)]; }

std::string label(double x, double y, const std::string& text, const char* anchor, const char* extra = "") {
  return absl::StrFormat("<text x='%.1f' y='%.1f' text-anchor='%s' %s>%s</text>", x, y, anchor, extra,
                         escape_html(text));
}

// A round step that cuts 0..most in about four.
double tick_of(double most) {
  const double raw = most / 4, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

std::string frame(const std::string& title, const std::string& unit, double most) {
  std::string svg = absl::StrFormat("<svg viewBox='0 0 %.0f %.0f' role='img'>", kWidth, kHeight);
  absl::StrAppend(
      &svg, label(kLeft, 18, absl::StrCat(title, unit.empty() ? "" : ", ", unit), "start", "class='title'"));
  const double tick = tick_of(most);
  for (double y = 0; y <= most * 1.0001; y += tick) {
    const double at = kHeight - kBottom - (kHeight - kTop - kBottom) * y / most;
    absl::StrAppend(&svg,
                    absl::StrFormat("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='grid'/>", kLeft,
                                    kWidth - kRight, at, at),
                    label(kLeft - 6, at + 4, number(y), "end"));
  }
  return svg;
}

}  // namespace

std::string escape_html(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&quot;"}});
}

std::string number(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e15 || size < 1e-6) return absl::StrFormat("%.3g", value);
  const int digits = std::max(0, 2 - static_cast<int>(std::floor(std::log10(size))));
  std::string text = absl::StrFormat("%.*f", digits, value);
  if (digits > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string line_chart(const std::string& title, const std::string& x_label, const std::string& unit,
                       const std::vector<Series>& series) {
  double most = 0;
  size_t longest = 1;
  for (const Series& s : series) {
    longest = std::max(longest, s.values.size());
    for (const double v : s.values) most = std::max(most, v);
  }
  if (most <= 0) most = 1;
  std::string svg = frame(title, unit, most);
  for (size_t i = 0; i < series.size(); ++i) {
    std::string points;
    for (size_t x = 0; x < series[i].values.size(); ++x)
      absl::StrAppendFormat(&points, "%.1f,%.1f ",
                            kLeft + (kWidth - kLeft - kRight) * static_cast<double>(x) /
                                        std::max<double>(1, static_cast<double>(longest) - 1),
                            kHeight - kBottom - (kHeight - kTop - kBottom) * series[i].values[x] / most);
    absl::StrAppend(&svg, "<polyline fill='none' stroke='", color(i), "' points='", points, "'/>",
                    label(kWidth - kRight - 8, kTop + 14 + 14 * static_cast<double>(i), series[i].name, "end",
                          absl::StrCat("fill='", color(i), "'").c_str()));
  }
  absl::StrAppend(
      &svg, label((kLeft + kWidth) / 2, kHeight - 8, absl::StrCat(x_label, " 1 to ", longest), "middle"),
      "</svg>\n");
  return svg;
}

std::string xy_chart(const std::string& title, const std::string& x_label, const std::string& unit,
                     const std::vector<std::pair<double, std::string>>& ticks,
                     const std::vector<PointSeries>& series) {
  double most = 0, first = 0, last = 0;
  bool any = false;
  for (const PointSeries& s : series)
    for (const auto& [x, y] : s.points) {
      most = std::max(most, y);
      first = any ? std::min(first, x) : x;
      last = any ? std::max(last, x) : x;
      any = true;
    }
  if (most <= 0) most = 1;
  if (last <= first) last = first + 1;
  const auto at_x = [&](double x) {
    return kLeft + (kWidth - kLeft - kRight) * (x - first) / (last - first);
  };
  std::string svg = frame(title, unit, most);
  for (const auto& [x, name] : ticks)
    if (x >= first && x <= last)
      absl::StrAppend(&svg, label(at_x(x), kHeight - kBottom + 14, name, "middle"));
  for (size_t i = 0; i < series.size(); ++i) {
    std::string points;
    for (const auto& [x, y] : series[i].points)
      absl::StrAppendFormat(&points, "%.1f,%.1f ", at_x(x),
                            kHeight - kBottom - (kHeight - kTop - kBottom) * y / most);
    absl::StrAppend(&svg, "<polyline fill='none' stroke='", color(i), "' points='", points, "'/>",
                    label(kLeft + 8, kTop + 14 + 14 * static_cast<double>(i), series[i].name, "start",
                          absl::StrCat("fill='", color(i), "'").c_str()));
  }
  absl::StrAppend(&svg, label((kLeft + kWidth) / 2, kHeight - 8, x_label, "middle"), "</svg>\n");
  return svg;
}

std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<std::pair<std::string, double>>& bars) {
  double most = 0;
  for (const auto& [name, value] : bars) most = std::max(most, value);
  if (most <= 0) most = 1;
  std::string svg = frame(title, unit, most * 1.05);
  const double step = (kWidth - kLeft - kRight) / std::max<double>(1, static_cast<double>(bars.size()));
  for (size_t i = 0; i < bars.size(); ++i) {
    const double height = (kHeight - kTop - kBottom) * bars[i].second / (most * 1.05);
    const double x = kLeft + step * static_cast<double>(i) + step * 0.2;
    absl::StrAppend(&svg,
                    absl::StrFormat("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>", x,
                                    kHeight - kBottom - height, step * 0.6, height, color(i)),
                    label(x + step * 0.3, kHeight - kBottom - height - 4, number(bars[i].second), "middle"),
                    label(x + step * 0.3, kHeight - kBottom + 16, bars[i].first, "middle"));
  }
  return svg + "</svg>\n";
}

}  // namespace l3dml::report
