#include "drl/app/explain.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drl/optimum/optimum.h"
#include "drl/policy/decide.h"
#include "tools/report/svg.h"

namespace l3dml::drl {
namespace {

struct Named {
  std::string name;
  Plan plan;
};

std::string way(const Problem& p, const Plan::Leg& leg) {
  std::string out = p.sites[leg.from].name;
  for (int e : leg.links) absl::StrAppend(&out, "-", p.sites[p.links[e].to].name);
  return out;
}

std::string plan_text(const Problem& p, const Named& n, double reference_s) {
  std::string out = absl::StrFormat("%s: iteration %.4g s, %.3f of the optimum, %d stripe%s\n", n.name,
                                    n.plan.time_s, n.plan.time_s / reference_s, n.plan.stripes.size(),
                                    n.plan.stripes.size() == 1 ? "" : "s");
  int shown = 0;
  for (const Plan::Stripe& s : n.plan.stripes) {
    if (++shown > 3) {
      absl::StrAppendFormat(&out, "  ... and %d smaller ones\n", n.plan.stripes.size() - 3);
      break;
    }
    absl::StrAppendFormat(&out, "  stripe %d: root %s, share %.3f, %.3g Mbit/s, round trip %.1f ms\n", shown,
                          p.sites[s.root].name, s.share, s.rate_bps / 1e6, s.round_trip_s * 1e3);
    for (const Plan::Leg& leg : s.inner_legs)
      absl::StrAppendFormat(&out, "    inner aggregator by %s\n", way(p, leg));
    for (size_t c = 0; c < s.child_legs.size(); ++c)
      absl::StrAppendFormat(&out, "    child %2d arrives %7.1f ms  by %s%s\n", c, s.arrival_s[c] * 1e3,
                            way(p, s.child_legs[c]),
                            s.child_legs[c].parent == s.root
                                ? ""
                                : absl::StrCat(" (sums at ", p.sites[s.child_legs[c].parent].name, ")"));
  }
  return out;
}

std::string map(const Problem& p, const Plan::Stripe& s) {
  double west = 1e9, east = -1e9, south = 1e9, north = -1e9;
  for (const Site& site : p.sites) {
    west = std::min(west, site.longitude);
    east = std::max(east, site.longitude);
    south = std::min(south, site.latitude);
    north = std::max(north, site.latitude);
  }
  const auto x = [&](int i) {
    return 20 + 360 * (p.sites[i].longitude - west) / std::max(1e-9, east - west);
  };
  const auto y = [&](int i) {
    return 220 - 200 * (p.sites[i].latitude - south) / std::max(1e-9, north - south);
  };
  std::string svg = "<svg width='400' height='240' font-family='sans-serif' font-size='9'>";
  const auto line = [&](const Link& l, const char* style) {
    absl::StrAppendFormat(&svg, "<line x1='%.0f' y1='%.0f' x2='%.0f' y2='%.0f' %s/>", x(l.from), y(l.from),
                          x(l.to), y(l.to), style);
  };
  for (const Link& l : p.links) line(l, "stroke='#ddd'");
  for (const auto* legs : {&s.inner_legs, &s.child_legs})
    for (const Plan::Leg& leg : *legs)
      for (int e : leg.links) line(p.links[e], "stroke='#1b6ca8' stroke-width='2'");
  for (size_t i = 0; i < p.sites.size(); ++i) {
    const int at = static_cast<int>(i);
    bool inner = false, child = false;
    for (const Plan::Leg& leg : s.inner_legs) inner = inner || leg.from == at;
    for (const Child& c : p.children) child = child || c.site == at;
    absl::StrAppendFormat(&svg,
                          "<circle cx='%.0f' cy='%.0f' r='%d' fill='%s'/><text x='%.0f' y='%.0f'>%s</text>",
                          x(at), y(at), at == s.root ? 7 : 4,
                          at == s.root ? "#d1495b"
                          : inner      ? "#c17c00"
                          : child      ? "#1b6ca8"
                                       : "#bbb",
                          x(at) + 6, y(at) - 4, p.sites[i].name);
  }
  return svg + "</svg>";
}

}  // namespace

absl::StatusOr<Explanation> explain(const Problem& problem, const Model* model) {
  const auto space = Space::create(problem);
  if (!space.ok()) return space.status();
  const auto optimum = bracket(*space);
  if (!optimum.ok()) return optimum.status();
  std::vector<Named> plans;
  if (model)
    if (Draft d = refine_with(*space, *model); !d.columns.empty())
      plans.push_back({model->info.name, plan_of(*space, d)});
  for (const Baseline& b : guard_baselines())
    if (Draft d = b.plan(*space); !d.columns.empty()) plans.push_back({b.name, plan_of(*space, d)});
  std::stable_sort(plans.begin() + (model ? 1 : 0), plans.end(),
                   [](const Named& a, const Named& b) { return a.plan.time_s < b.plan.time_s; });
  Explanation out;
  out.text =
      absl::StrFormat("%d sites, %d links, %d children, %.3g bytes; optimum %.4g s\n\n", problem.sites.size(),
                      problem.links.size(), problem.children.size(), problem.job.bytes, optimum->upper_s);
  std::string body = absl::StrCat("<p>", out.text, "</p>");
  for (const Named& n : plans) {
    const std::string text = plan_text(problem, n, optimum->lower_s);
    absl::StrAppend(&out.text, text, "\n");
    absl::StrAppend(&body, "<h2>", n.name, "</h2>");
    for (size_t s = 0; s < std::min<size_t>(2, n.plan.stripes.size()); ++s)
      absl::StrAppend(&body, map(problem, n.plan.stripes[s]));
    absl::StrAppend(&body, "<pre>", text, "</pre>\n");
  }
  absl::StrAppend(&body, "<p>Red: root; orange: inner aggregators; blue: children.</p>");
  out.html = report::html_page("A routing decision", body);
  return out;
}

}  // namespace l3dml::drl
