#include "control/jobs/form.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::control {
namespace {

struct Candidate {
  std::vector<StripeRequest> stripes;
  double time_s = std::numeric_limits<double>::infinity();
};

Candidate evaluate(const Topology& topology, const std::vector<HostId>& members,
                   const std::vector<SiteId>& roots, const SizingOptions& sizing,
                   const FormOptions& options) {
  Candidate candidate;
  std::vector<Tree> trees;
  for (const SiteId root : roots) {
    candidate.stripes.push_back({root, 1, {options.inner, 2}});
    auto tree = build_tree(topology, members, root, by_delay, candidate.stripes.back().tree);
    if (!tree.ok()) return candidate;
    trees.push_back(*std::move(tree));
  }
  std::vector<StripeShape> shapes;
  for (const Tree& tree : trees) shapes.push_back({&tree, 1.0 / static_cast<double>(roots.size())});
  candidate.time_s = collective_time_s(size_job(topology, shapes, sizing), options.bytes);
  return candidate;
}

// Sites whose switches may be roots; in a large network those nearest to the members, by total delay, since
// each is tried at the price of several shortest paths.
std::vector<SiteId> candidates_of(const Topology& topology, const std::vector<HostId>& members) {
  constexpr size_t kMost = 24;
  std::vector<SiteId> all;
  for (SiteId site = 0; site < static_cast<SiteId>(topology.sites().size()); ++site)
    if (topology.sites()[site].aggregates) all.push_back(site);
  if (all.size() <= kMost) return all;
  std::vector<double> total(topology.sites().size(), 0.0);
  PathCache paths(topology);
  for (const HostId h : members) {
    const PathTree& tree = paths.to(topology.hosts()[h].site);
    for (size_t site = 0; site < total.size(); ++site) total[site] += tree.lengths[site];
  }
  std::stable_sort(all.begin(), all.end(), [&](SiteId a, SiteId b) { return total[a] < total[b]; });
  all.resize(kMost);
  return all;
}

}  // namespace

double collective_time_s(const JobSize& size, double bytes) {
  double rtt_s = 0;
  for (const StripeSize& stripe : size.stripes) rtt_s = std::max(rtt_s, stripe.rtt_s);
  return 8 * bytes / size.goodput_bps + rtt_s;
}

double form_time_s(const Topology& topology, const std::vector<HostId>& members,
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

ChosenForm keep_unless_clearly_faster(const Topology& topology, const std::vector<HostId>& members,
                                      const SizingOptions& sizing, double bytes, ChosenForm form,
                                      const std::vector<StripeRequest>& running, double hysteresis) {
  const double now_s = form_time_s(topology, members, running, sizing, bytes);
  const bool keep = form.time_s > now_s * (1 - hysteresis);
  absl::StrAppend(&form.why, absl::StrFormat("; what runs takes %.4g s, the new form %.4g s: %s", now_s,
                                             form.time_s, keep ? "kept" : "changed"));
  if (keep) {
    form.stripes = running;
    form.time_s = now_s;
    form.source = "running";
  }
  return form;
}

absl::StatusOr<ChosenForm> FormChooser::choose(const Topology& topology, const std::vector<HostId>& members,
                                               const SizingOptions& sizing,
                                               const FormOptions& options) const {
  auto stripes = choose_form(topology, members, sizing, options);
  if (!stripes.ok()) return stripes.status();
  const double time_s = form_time_s(topology, members, *stripes, sizing, options.bytes);
  return ChosenForm{
      *std::move(stripes), time_s, "arithmetic",
      options.stripes > 0 ? "the number of stripes was given" : "the best of one root and a root per site"};
}

absl::StatusOr<std::vector<StripeRequest>> choose_form(const Topology& topology,
                                                       const std::vector<HostId>& members,
                                                       const SizingOptions& sizing,
                                                       const FormOptions& options) {
  Candidate best;
  // Fewer stripes win unless more are clearly faster: each costs slots on every switch.
  const auto offer = [&](const std::vector<SiteId>& roots) {
    Candidate candidate = evaluate(topology, members, roots, sizing, options);
    if (candidate.time_s < 0.98 * best.time_s ||
        (candidate.time_s < best.time_s && candidate.stripes.size() <= best.stripes.size()))
      best = std::move(candidate);
  };
  std::vector<SiteId> ranking;  // single roots, best first
  std::vector<std::pair<double, SiteId>> singles;
  for (const SiteId site : candidates_of(topology, members)) {
    singles.emplace_back(evaluate(topology, members, {site}, sizing, options).time_s, site);
    if (options.stripes <= 1) offer({site});
  }
  std::sort(singles.begin(), singles.end());
  for (const auto& [time, site] : singles) ranking.push_back(site);

  // A root at every site that has members and may sum.
  std::vector<SiteId> homes;
  for (const HostId h : members)
    if (const SiteId s = topology.hosts()[h].site;
        topology.sites()[s].aggregates && std::find(homes.begin(), homes.end(), s) == homes.end())
      homes.push_back(s);
  std::sort(homes.begin(), homes.end());
  const auto wanted = static_cast<size_t>(options.stripes);
  if (wanted == 0 && homes.size() > 1) offer(homes);
  if (wanted > 1) {  // that many: the members' sites first, then the best others
    std::vector<SiteId> roots = homes;
    for (const SiteId site : ranking)
      if (std::find(roots.begin(), roots.end(), site) == roots.end()) roots.push_back(site);
    if (roots.size() < wanted)
      return absl::ResourceExhaustedError(
          absl::StrCat(wanted, " stripes need as many switches that may sum, there are ", roots.size()));
    roots.resize(wanted);
    offer(roots);
  }
  if (best.stripes.empty())
    return absl::UnavailableError("no switch that may sum is reached by every worker");
  return best.stripes;
}

}  // namespace l3dml::control
