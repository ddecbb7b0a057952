#include "control/topology/paths.h"

#include <queue>
#include <tuple>

namespace l3dml::control {

double by_delay(const Link& link) { return link.delay_s + 1e-6; }

PathTree paths_to(const Topology& topology, SiteId to, const LinkLength& length) {
  const size_t n = topology.sites().size();
  PathTree tree;
  tree.to = to;
  tree.lengths.assign(n, std::numeric_limits<double>::infinity());
  tree.next.assign(n, Step{});
  std::vector<int> hops(n, 0);
  std::vector<bool> settled(n, false);
  using Item = std::tuple<double, int, SiteId>;  // length, hops, site
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
  tree.lengths[to] = 0;
  queue.emplace(0.0, 0, to);
  while (!queue.empty()) {
    const auto [d, h, site] = queue.top();
    queue.pop();
    if (settled[site]) continue;
    settled[site] = true;
    for (const Step& step : topology.steps(site)) {
      const Link& link = topology.links()[step.link];
      if (!link.up || settled[step.site]) continue;
      const double candidate = d + length(link);
      const auto key = std::tuple(candidate, h + 1, site);
      const SiteId old = tree.next[step.site].site;
      if (old < 0 || key < std::tuple(tree.lengths[step.site], hops[step.site], old)) {
        tree.lengths[step.site] = candidate;
        hops[step.site] = h + 1;
        tree.next[step.site] = {step.link, site};
        queue.emplace(candidate, h + 1, step.site);
      }
    }
  }
  return tree;
}

std::vector<Step> path_steps(const PathTree& tree, SiteId from) {
  std::vector<Step> steps;
  if (!tree.reaches(from)) return steps;
  for (SiteId at = from; at != tree.to; at = tree.next[at].site) steps.push_back(tree.next[at]);
  return steps;
}

PathFigures path_figures(const Topology& topology, const std::vector<Step>& steps) {
  PathFigures figures;
  for (const Step& step : steps) {
    const Link& link = topology.links()[step.link];
    figures.delay_s += link.delay_s;
    figures.delivered *= 1 - link.loss;
    if (link.rate_bps > 0 && (figures.rate_bps == 0 || link.rate_bps < figures.rate_bps))
      figures.rate_bps = link.rate_bps;
  }
  return figures;
}

}  // namespace l3dml::control
