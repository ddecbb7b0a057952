#include "control/jobs/policy_form.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::control {
namespace {

constexpr double kUnlimitedLink_bps = 1e12;  // a link without a rate
constexpr double kLeastShare = 0.02;  // a stripe below it costs slots on every switch and carries nothing
constexpr double kClearly = 0.98;     // the policy's form must be that much faster to need more stripes

std::vector<StripeRequest> stripes_of(const drl::Plan& plan, bool inner) {
  std::map<SiteId, double> by_root;  // stripes of one root have one tree here
  for (const drl::Plan::Stripe& s : plan.stripes) by_root[s.root] += s.share;
  std::vector<StripeRequest> out;
  for (const auto& [root, share] : by_root)
    if (share >= kLeastShare) out.push_back({root, share, {inner, 2}});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return out;
}

class PolicyChooser final : public FormChooser {
 public:
  PolicyChooser(std::unique_ptr<drl::Policy> policy, bool guard)
      : policy_(std::move(policy)), guard_(guard) {}
  absl::StatusOr<ChosenForm> choose(const Topology& topology, const std::vector<HostId>& members,
                                    const SizingOptions& sizing, const FormOptions& options) const override {
    return choose_form_by_policy(topology, members, sizing, options, *policy_, guard_);
  }

 private:
  std::unique_ptr<drl::Policy> policy_;
  bool guard_;  // a rule that the operator chose decides even where the arithmetic finds it slow
};

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

absl::StatusOr<ChosenForm> choose_form_by_policy(const Topology& topology, const std::vector<HostId>& members,
                                                 const SizingOptions& sizing, const FormOptions& options,
                                                 const drl::Policy& policy, bool guard) {
  auto form = FormChooser().choose(topology, members, sizing, options);
  if (!form.ok() || options.stripes > 0) return form;
  const auto decision = policy.decide(problem_of(topology, members, sizing, options.bytes));
  if (!decision.ok()) {
    form->why = absl::StrCat("the policy has no answer: ", decision.status().message());
    return form;
  }
  std::vector<StripeRequest> stripes = stripes_of(decision->plan, options.inner);
  const double time_s = form_time_s(topology, members, stripes, sizing, options.bytes);
  form->why = absl::StrFormat("%s; %.4g s by arithmetic, the arithmetic's own form %.4g s", decision->why,
                              time_s, form->time_s);
  const bool faster =
      time_s < kClearly * form->time_s || (time_s <= form->time_s && stripes.size() <= form->stripes.size());
  if (faster || (!guard && std::isfinite(time_s)))
    form = ChosenForm{std::move(stripes), time_s, decision->source, form->why};
  return form;
}

absl::StatusOr<ChosenForm> revise_form(const Topology& topology, const std::vector<HostId>& members,
                                       const SizingOptions& sizing, const FormOptions& options,
                                       const drl::Policy& policy, const std::vector<StripeRequest>& running,
                                       double hysteresis) {
  auto form = choose_form_by_policy(topology, members, sizing, options, policy);
  if (!form.ok()) return form;
  return keep_unless_clearly_faster(topology, members, sizing, options.bytes, *std::move(form), running,
                                    hysteresis);
}

absl::StatusOr<std::unique_ptr<FormChooser>> policy_chooser(const std::string& name,
                                                            const std::string& models,
                                                            std::vector<std::string>* refused) {
  if (name == "arithmetic") return std::make_unique<FormChooser>();
  drl::PolicyOptions options;
  options.model_directory = models;
  if (name != "drl") options.rule = name;
  auto policy = drl::Policy::create(options);
  if (!policy.ok() && !models.empty() && name == "drl") {
    refused->push_back(std::string(policy.status().message()));
    options.model_directory.clear();
    policy = drl::Policy::create(options);
  }
  if (!policy.ok()) return policy.status();
  for (const std::string& file : (*policy)->refused()) refused->push_back(file);
  return std::make_unique<PolicyChooser>(*std::move(policy), name == "drl");
}

}  // namespace l3dml::control
