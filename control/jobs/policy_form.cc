#include "control/jobs/policy_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::control {
namespace {

constexpr double kUnlimitedLink_bps = 1e12;  // a link without a rate
constexpr double kLeastShare = 0.02;  // a stripe below it costs slots on every switch and carries nothing
constexpr double kClearly = 0.98;     // the policy's form must be that much faster to need more stripes

double time_of(const Topology& topology, const std::vector<HostId>& members,
               const std::vector<StripeRequest>& stripes, const SizingOptions& sizing, double bytes) {
  std::vector<Tree> trees;
  double shares = 0;
  for (const StripeRequest& s : stripes) {
    auto tree = build_tree(topology, members, s.root, by_delay, s.tree);
    if (!tree.ok()) return std::numeric_limits<double>::infinity();
    trees.push_back(*std::move(tree));
    shares += s.share;
  }
  std::vector<StripeShape> shapes;
  for (size_t i = 0; i < trees.size(); ++i) shapes.push_back({&trees[i], stripes[i].share / shares});
  return shapes.empty() ? std::numeric_limits<double>::infinity()
                        : collective_time_s(size_job(topology, shapes, sizing), bytes);
}

std::vector<StripeRequest> stripes_of(const drl::Plan& plan, bool inner) {
  std::map<SiteId, double> by_root;  // stripes of one root have one tree here
  for (const drl::Plan::Stripe& s : plan.stripes) by_root[s.root] += s.share;
  std::vector<StripeRequest> out;
  for (const auto& [root, share] : by_root)
    if (share >= kLeastShare) out.push_back({root, share, {inner, 2}});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return out;
}

}  // namespace

drl::Problem problem_of(const Topology& topology, const std::vector<HostId>& members,
                        const SizingOptions& sizing, double bytes) {
  drl::Problem p;
  for (const Site& s : topology.sites()) {
    drl::Site site;
    site.name = s.name;
    site.aggregates = s.aggregates;
    p.sites.push_back(site);
  }
  std::map<std::pair<int, int>, size_t> at;
  for (const Link& l : topology.links()) {
    if (!l.up || l.a == l.b) continue;
    const double rate = l.rate_bps > 0 ? l.rate_bps : kUnlimitedLink_bps;
    for (const auto& [from, to] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
      const drl::Link link{from, to, rate, rate * sizing.headroom, l.delay_s};
      const auto [where, fresh] = at.emplace(std::pair{from, to}, p.links.size());
      if (fresh)
        p.links.push_back(link);
      else if (by_delay(l) < p.links[where->second].delay_s + 1e-6)
        p.links[where->second] = link;
    }
  }
  std::map<SiteId, size_t> summed;  // its child
  for (const HostId h : members) {
    const Host& host = topology.hosts()[h];
    const double access =
        std::min(host.rate_bps > 0 ? host.rate_bps : kUnlimitedLink_bps, sizing.max_rate_bps);
    const bool sums = topology.sites()[host.site].aggregates;
    if (const auto found = summed.find(host.site); sums && found != summed.end()) {
      drl::Child& child = p.children[found->second];
      ++child.workers;
      child.access_bps = std::min(child.access_bps, access);
      continue;
    }
    if (sums) summed[host.site] = p.children.size();
    p.children.push_back({host.site, 1, 0, access, sums});
  }
  p.job.bytes = bytes;
  p.job.payload_bytes = static_cast<int>(sizing.lanes) * 4;
  return p;
}

absl::StatusOr<PolicyForm> choose_form_by_policy(const Topology& topology, const std::vector<HostId>& members,
                                                 const SizingOptions& sizing, const FormOptions& options,
                                                 const drl::Policy& policy) {
  auto baseline = choose_form(topology, members, sizing, options);
  if (!baseline.ok()) return baseline.status();
  PolicyForm form{*std::move(baseline), 0, "arithmetic", ""};
  form.time_s = time_of(topology, members, form.stripes, sizing, options.bytes);
  if (options.stripes > 0) {
    form.why = "the number of stripes was given";
    return form;
  }
  const auto decision = policy.decide(problem_of(topology, members, sizing, options.bytes));
  if (!decision.ok()) {
    form.why = absl::StrCat("the policy has no answer: ", decision.status().message());
    return form;
  }
  std::vector<StripeRequest> stripes = stripes_of(decision->plan, options.inner);
  const double time_s = time_of(topology, members, stripes, sizing, options.bytes);
  form.why = absl::StrFormat("%s; %.4g s by arithmetic, the arithmetic's own form %.4g s", decision->why,
                             time_s, form.time_s);
  if (time_s < kClearly * form.time_s || (time_s <= form.time_s && stripes.size() <= form.stripes.size())) {
    form.stripes = std::move(stripes);
    form.time_s = time_s;
    form.source = decision->source;
  }
  return form;
}

absl::StatusOr<PolicyForm> revise_form(const Topology& topology, const std::vector<HostId>& members,
                                       const SizingOptions& sizing, const FormOptions& options,
                                       const drl::Policy& policy, const std::vector<StripeRequest>& running,
                                       double hysteresis) {
  auto form = choose_form_by_policy(topology, members, sizing, options, policy);
  if (!form.ok()) return form;
  const double now_s = time_of(topology, members, running, sizing, options.bytes);
  const bool keep = form->time_s > now_s * (1 - hysteresis);
  absl::StrAppend(&form->why, absl::StrFormat("; what runs takes %.4g s, the new form %.4g s: %s", now_s,
                                              form->time_s, keep ? "kept" : "changed"));
  if (keep) {
    form->stripes = running;
    form->time_s = now_s;
    form->source = "running";
  }
  return form;
}

}  // namespace l3dml::control
