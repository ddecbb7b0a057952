#include "drl/env/problem.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace l3dml::drl {
namespace {

constexpr double kMaxDelay_s = 10.0;
constexpr double kMaxReady_s = 86400.0;

bool in_range(double value, double low, double high) {
  return value >= low && value <= high;
}  // false for NaN

absl::Status bad(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

absl::Status validate_links(const Problem& p) {
  const int sites = static_cast<int>(p.sites.size());
  std::set<std::pair<int, int>> seen;
  for (size_t i = 0; i < p.links.size(); ++i) {
    const Link& l = p.links[i];
    const std::string name = absl::StrCat("link ", i);
    if (l.from < 0 || l.from >= sites || l.to < 0 || l.to >= sites || l.from == l.to)
      return bad(absl::StrCat(name, ": must join two different sites"));
    if (!in_range(l.capacity_bps, 0, 1e15) || !in_range(l.available_bps, 0, l.capacity_bps))
      return bad(absl::StrCat(name, ": available_bps must lie in 0..capacity_bps"));
    if (!in_range(l.delay_s, 0, kMaxDelay_s))
      return bad(absl::StrCat(name, ": delay_s must lie in 0..", kMaxDelay_s));
    if (!seen.emplace(l.from, l.to).second)
      return bad(absl::StrCat(name, ": joins the same sites as an earlier one"));
  }
  for (const auto& [from, to] : seen)
    if (!seen.count({to, from}))
      return bad(absl::StrCat("link ", p.sites[from].name, " to ", p.sites[to].name, " has no reverse"));
  return absl::OkStatus();
}

absl::Status validate_children(const Problem& p) {
  if (p.children.empty()) return bad("the job has no children");
  if (p.children.size() > kMaxChildren)
    return bad(absl::StrCat("the job has ", p.children.size(), " children across the WAN, at most ",
                            kMaxChildren, ": let their sites' switches sum first"));
  std::set<int> summed;
  for (size_t i = 0; i < p.children.size(); ++i) {
    const Child& c = p.children[i];
    const std::string name = absl::StrCat("child ", i);
    if (c.site < 0 || c.site >= static_cast<int>(p.sites.size()))
      return bad(absl::StrCat(name, ": no such site"));
    if (c.workers < 1) return bad(absl::StrCat(name, ": needs at least one worker"));
    if (!in_range(c.ready_s, 0, kMaxReady_s)) return bad(absl::StrCat(name, ": ready_s out of range"));
    if (!(c.access_bps > 0)) return bad(absl::StrCat(name, ": access_bps must be positive"));
    if (c.summed_at_site != p.sites[c.site].aggregates)
      return bad(absl::StrCat(name, ": is ", c.summed_at_site ? "" : "not ", "summed at ",
                              p.sites[c.site].name, ", whose switch says otherwise"));
    if (c.summed_at_site && !summed.insert(c.site).second)
      return bad(absl::StrCat(name, ": its site has a child already, merge their workers"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status validate(const Problem& p) {
  if (p.sites.empty()) return bad("the network has no sites");
  if (p.sites.size() > 4096) return bad("more than 4096 sites");
  bool any = false;
  for (const Site& s : p.sites) {
    any = any || s.aggregates;
    if (!(s.slots >= 0)) return bad(absl::StrCat("site ", s.name, ": slots must not be negative"));
  }
  if (!any) return bad("no site can aggregate");
  if (!in_range(p.job.bytes, 1, 1e15)) return bad("job: bytes must lie in 1..1e15");
  if (p.job.payload_bytes < 64 || p.job.payload_bytes > 9000)
    return bad("job: payload_bytes must lie in 64..9000");
  if (p.job.max_stripes < 1 || p.job.max_stripes > 64) return bad("job: max_stripes must lie in 1..64");
  if (absl::Status s = validate_links(p); !s.ok()) return s;
  return validate_children(p);
}

double wire_efficiency(const Job& job) {
  return static_cast<double>(job.payload_bytes) / (job.payload_bytes + kFrameOverhead_bytes);
}

}  // namespace l3dml::drl
