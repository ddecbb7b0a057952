#include "control/jobs/sizing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::control {
namespace {

// Load on the directed edges of the network when every worker sends one unit: who carries how many units.
class Loads {
 public:
  explicit Loads(const Topology& topology) : topology_(topology), paths_(topology) {}

  void add(const Tree& tree, double share) {
    for (const Segment& segment : segments_of(topology_, tree)) {
      const Child& child = tree.aggregators[segment.aggregator].children[segment.child];
      if (child.kind == NodeKind::worker) {
        hosts_[child.index].first += share;
        hosts_[child.index].second += share;
      }
      carry(segment.steps, segment.from, share);
      carry(path_steps(paths_.to(segment.from), segment.to), segment.to, share);
    }
  }

  // Largest unit that fits, and what bounds it.
  std::pair<double, std::string> fit(const SizingOptions& options) const {
    double best = options.max_rate_bps;
    std::string limit = absl::StrCat("the hosts' own rate (", absl::StrFormat("%.3g", best / 1e9), " Gb/s)");
    const auto bound = [&](double capacity, double load, const std::string& what) {
      if (capacity <= 0 || load <= 0) return;
      const double rate = capacity * options.headroom / load;
      if (rate < best) {
        best = rate;
        limit = absl::StrFormat("%s: %.3g Mb/s carry the tensor %.3g times", what, capacity / 1e6, load);
      }
    };
    for (const auto& [host, load] : hosts_) {
      const Host& h = topology_.hosts()[host];
      bound(h.rate_bps, std::max(load.first, load.second), absl::StrCat("access of worker ", h.name));
    }
    for (const auto& [edge, load] : links_) {
      const Link& link = topology_.links()[edge.first];
      bound(link.rate_bps, load / (1 - link.loss), absl::StrCat("link ", link.name));
    }
    return {best, limit};
  }

 private:
  void carry(const std::vector<Step>& steps, SiteId at, double share) {
    for (const Step& step : steps) {
      links_[{step.link, at}] += share;
      at = step.site;
    }
  }

  const Topology& topology_;
  PathCache paths_;
  std::map<HostId, std::pair<double, double>> hosts_;  // up, down
  std::map<std::pair<LinkId, SiteId>, double> links_;  // (link, from which end)
};

double one_way(const Topology& topology, const std::vector<Step>& steps) {
  return path_figures(topology, steps).delay_s;
}

}  // namespace

uint32_t power_of_two_above(double value) {
  return value <= 1 ? 1u : std::bit_ceil(static_cast<uint32_t>(std::ceil(std::min(value, 2147483648.0))));
}

int packet_bits(uint32_t lanes) { return 8 * (kHeadBytes + kWireBytes + 4 * static_cast<int>(lanes)); }

JobSize size_job(const Topology& topology, const std::vector<StripeShape>& stripes,
                 const SizingOptions& options) {
  JobSize job;
  Loads loads(topology);
  for (const StripeShape& stripe : stripes) loads.add(*stripe.tree, stripe.share);
  std::tie(job.rate_bps, job.limit) = loads.fit(options);

  for (const StripeShape& stripe : stripes) {
    StripeSize size;
    const std::vector<Segment> segments = segments_of(topology, *stripe.tree);
    // Delay from each aggregator up to the root; parents come before children.
    std::vector<double> to_root(stripe.tree->aggregators.size(), 0.0);
    for (const Segment& segment : segments) {
      const Child& child = stripe.tree->aggregators[segment.aggregator].children[segment.child];
      double delay = one_way(topology, segment.steps);
      if (child.kind == NodeKind::worker) delay += topology.hosts()[child.index].delay_s;
      size.segment_rtts_s.push_back(2 * delay + options.host_slack_s);
      const double total = to_root[segment.aggregator] + delay;
      if (child.kind == NodeKind::aggregator) to_root[child.index] = total;
      size.rtt_s = std::max(size.rtt_s, 2 * total + options.host_slack_s);
    }
    size.rate_bps = job.rate_bps * stripe.share;
    const double in_flight = size.rate_bps * size.rtt_s / packet_bits(options.lanes);
    size.window = std::clamp(power_of_two_above(in_flight * options.window_margin), kMinWindow,
                             std::bit_floor(options.max_window));
    job.stripes.push_back(std::move(size));
  }
  std::vector<uint32_t> windows;
  for (const StripeSize& s : job.stripes) windows.push_back(s.window);
  apply_windows(&job, windows, options.lanes, "the largest window allowed");
  return job;
}

void apply_windows(JobSize* job, const std::vector<uint32_t>& windows, uint32_t lanes,
                   const std::string& why) {
  double factor = 1;  // how much slower than its rate the slowest stripe goes
  for (size_t i = 0; i < windows.size(); ++i) {
    StripeSize& stripe = job->stripes[i];
    stripe.window = windows[i];
    const double possible = stripe.window * static_cast<double>(packet_bits(lanes)) / stripe.rtt_s;
    factor = std::min(factor, possible / stripe.rate_bps);
  }
  if (factor < 1) {
    job->rate_bps *= factor;
    for (StripeSize& stripe : job->stripes) stripe.rate_bps *= factor;
    job->limit = why;
  }
  job->goodput_bps = job->rate_bps * 32.0 * lanes / packet_bits(lanes);
}

}  // namespace l3dml::control
