#include "drl/policy/decide.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace l3dml::drl {
namespace {

absl::Status foreign(std::string what) {
  return absl::InvalidArgumentError(absl::StrCat("the plan is of another problem: ", what));
}

// Checks that the leg's links lead from its site to its parent; adds what it takes.
absl::Status walk(const Problem& p, const Plan::Leg& leg, double* delay_s, std::vector<double>& takes,
                  bool up, const std::vector<int>& reverse) {
  int at = leg.from;
  for (int e : leg.links) {
    if (e < 0 || e >= static_cast<int>(p.links.size()) || p.links[e].from != at)
      return foreign(absl::StrCat("link ", e, " is not on the way"));
    at = p.links[e].to;
    takes[up ? e : reverse[e]] += 1;
    *delay_s += p.links[e].delay_s;
  }
  if (at != leg.parent) return foreign("a leg ends elsewhere");
  return absl::OkStatus();
}

}  // namespace

Draft refine_with(const Space& space, const Model& model, float* strangest) {
  Refine refine(space, model.info.steps);
  Network::Scratch scratch;
  std::vector<float> scores;
  for (bool first = true;; first = false) {
    const Observation& o = refine.observe();
    if (o.candidates == 0) break;
    if (strangest && first) *strangest = model.network.strangeness(o);
    model.network.scores(o, scratch, scores);
    refine.choose(static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
  }
  return refine.draft();
}

Draft refine_by_rule(const Space& space, int steps) {
  Refine refine(space, steps);
  while (refine.observe().candidates > 0) refine.choose(refine.cheapest_candidate());
  return refine.draft();
}

Plan plan_of(const Space& space, const Draft& draft) {
  Plan plan;
  plan.time_s = draft.time_s();
  const auto leg_of = [&](int from, const Leg& leg) {
    Plan::Leg out{from, leg.parent, {}};
    if (leg.path != kSameSite)
      out.links.assign(space.paths().links(leg.path).begin(), space.paths().links(leg.path).end());
    return out;
  };
  for (size_t s = 0; s < draft.columns.size(); ++s) {
    const Column& column = draft.columns[s];
    const Tree& tree = column.tree;
    Plan::Stripe stripe;
    stripe.root = tree.root;
    for (size_t i = 0; i < tree.inner.size(); ++i)
      stripe.inner_legs.push_back(leg_of(tree.inner[i], tree.inner_legs[i]));
    const TreeDelays delays = tree_delays(space, tree);
    for (int c = 0; c < space.child_count(); ++c) {
      stripe.child_legs.push_back(leg_of(space.problem().children[c].site, tree.child_legs[c]));
      stripe.arrival_s.push_back(space.problem().children[c].ready_s + delays.up_s[c]);
    }
    stripe.share = draft.allocation.share[s];
    stripe.rate_bps = draft.allocation.rate_bps[s];
    stripe.round_trip_s = column.round_trip_s;
    plan.stripes.push_back(std::move(stripe));
  }
  std::stable_sort(plan.stripes.begin(), plan.stripes.end(),
                   [](const Plan::Stripe& a, const Plan::Stripe& b) { return a.share > b.share; });
  return plan;
}

absl::StatusOr<double> predict_plan(const Problem& p, const Plan& plan) {
  if (absl::Status s = validate(p); !s.ok()) return s;
  const int sites = static_cast<int>(p.sites.size()), links = static_cast<int>(p.links.size());
  std::vector<int> at(static_cast<size_t>(sites) * sites, -1), reverse(links);
  for (int e = 0; e < links; ++e) at[p.links[e].from * sites + p.links[e].to] = e;
  for (int e = 0; e < links; ++e) reverse[e] = at[p.links[e].to * sites + p.links[e].from];
  const double efficiency = wire_efficiency(p.job), bits = p.job.bytes * 8;
  double access = kUnlimited;
  for (const Child& c : p.children) access = std::min(access, c.access_bps);

  struct Stripe {
    double share, latency_s, slots_per_bps;
    std::vector<double> takes;  // per link
    std::vector<char> holds;    // per site: it keeps a ring there
  };
  std::vector<Stripe> stripes;
  for (const Plan::Stripe& s : plan.stripes) {
    if (s.child_legs.size() != p.children.size()) return foreign("another number of children");
    Stripe stripe{s.share, 0, 0, std::vector<double>(links, 0), std::vector<char>(sites, 0)};
    std::vector<double> beyond(sites, 0);
    const auto aggregates = [&](int site) { return site >= 0 && site < sites && p.sites[site].aggregates; };
    if (!aggregates(s.root)) return foreign("its root does not aggregate");
    stripe.holds[s.root] = 1;
    for (const Plan::Leg& leg : s.inner_legs) {
      double delay = 0;
      if (!aggregates(leg.from) || leg.parent != s.root) return foreign("an inner aggregator is none");
      for (bool up : {true, false}) {
        delay = 0;
        if (absl::Status w = walk(p, leg, &delay, stripe.takes, up, reverse); !w.ok()) return w;
      }
      beyond[leg.from] = delay;
      stripe.holds[leg.from] = 1;
    }
    double arrival = 0, farthest = 0;
    for (size_t c = 0; c < p.children.size(); ++c) {
      const Plan::Leg& leg = s.child_legs[c];
      if (leg.from != p.children[c].site || leg.parent < 0 || leg.parent >= sites ||
          !stripe.holds[leg.parent])
        return foreign(absl::StrCat("child ", c, " is elsewhere"));
      double delay = 0;
      for (bool up : {true, false}) {
        delay = beyond[leg.parent];
        if (absl::Status w = walk(p, leg, &delay, stripe.takes, up, reverse); !w.ok()) return w;
      }
      arrival = std::max(arrival, p.children[c].ready_s + delay);
      farthest = std::max(farthest, delay);
    }
    for (const Child& c : p.children)
      if (c.summed_at_site) stripe.holds[c.site] = 1;
    stripe.latency_s = arrival + farthest;
    stripe.slots_per_bps = 4 * 2 * farthest / (p.job.payload_bytes * 8.0);
    stripes.push_back(std::move(stripe));
  }
  if (stripes.empty()) return foreign("it has no stripes");

  // The shortest T at which rates share * bits / (T - latency) fit everywhere; feasibility only grows with T.
  double low = 0;
  for (const Stripe& s : stripes)
    if (s.share > 0) low = std::max(low, s.latency_s);
  const auto fits = [&](double time_s) {
    std::vector<double> link(links, 0), slots(sites, 0);
    double total = 0;
    for (const Stripe& s : stripes) {
      if (s.share <= 0) continue;
      const double rate = s.share * bits / (time_s - s.latency_s);
      total += rate;
      for (int e = 0; e < links; ++e) link[e] += s.takes[e] * rate;
      for (int i = 0; i < sites; ++i)
        if (s.holds[i]) slots[i] += s.slots_per_bps * rate;
    }
    if (total > access * efficiency) return false;
    for (int e = 0; e < links; ++e)
      if (link[e] > p.links[e].available_bps * efficiency) return false;
    for (int i = 0; i < sites; ++i)
      if (slots[i] > p.sites[i].slots) return false;
    return true;
  };
  double wide = 1e-6;
  while (!fits(low + wide))
    if ((wide *= 4) > 1e12) return kUnlimited;
  double narrow = 0;
  for (int i = 0; i < 60 && wide - narrow > 1e-9 * (low + wide); ++i) {
    const double middle = (narrow + wide) / 2;
    (middle > 0 && fits(low + middle) ? wide : narrow) = middle;
  }
  return low + wide;
}

}  // namespace l3dml::drl
