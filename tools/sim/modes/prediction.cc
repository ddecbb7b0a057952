#include "tools/sim/modes/prediction.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "absl/strings/str_cat.h"
#include "drl/env/scenario.h"
#include "drl/policy/decide.h"
#include "tools/report/svg.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr double kScale = 1e-2;            // of rates and bytes
constexpr double kHeadroom = 0.95;         // of a link that a plan may use
constexpr double kDead_bps = 1e6;          // before scaling
constexpr double kLongest_s = 10;          // of an iteration
constexpr int kMostWorkers = 2;            // of a site
constexpr uint64_t kQueueBytes = 4 << 20;  // the flow model knows no loss

drl::Topology network_of(int kind, drl::Random& random) {
  const char* bundled[] = {"abilene", "b4", "star", "ring"};
  return kind < 4 ? *drl::bundled_topology(bundled[kind])
                  : drl::random_topology(5 + random.below(8), random, 0.15);
}

drl::Draft draft_of(const std::string& policy, const drl::Space& space, uint64_t seed) {
  if (policy == "random") return drl::random_plan(space, seed);
  for (const drl::Baseline& b : drl::guard_baselines())
    if (b.name == policy) return b.plan(space);
  return drl::refine_by_rule(space, 12);
}

uint32_t window_of(double packets_flying) {
  return std::bit_ceil(static_cast<uint32_t>(std::max(32.0, std::ceil(1.5 * packets_flying))));
}

// Aggregators and places of one stripe: the root, inner ones, and every other site whose switch sums for its
// workers.
class StripeTree {
 public:
  StripeTree(const drl::Problem& problem, const std::vector<int>& cable_of,
             const std::vector<std::vector<uint32_t>>& members)
      : problem_(problem), cable_of_(cable_of), members_(members) {
    size_t count = 0;
    for (const auto& m : members) count += m.size();
    tree_.places.resize(count);
  }

  Tree build(const drl::Plan::Stripe& stripe) {
    aggregator(stripe.root, nullptr);
    for (const drl::Plan::Leg& leg : stripe.inner_legs) aggregator(leg.from, &leg);
    for (size_t c = 0; c < members_.size(); ++c) {
      const drl::Plan::Leg& leg = stripe.child_legs[c];
      const bool summed = problem_.children[c].summed_at_site;
      if (summed && !at_.contains(leg.from)) aggregator(leg.from, &leg);
      const uint32_t parent = at_.at(summed ? leg.from : leg.parent);
      for (const uint32_t member : members_[c]) {
        auto& children = tree_.aggregators[parent].children;
        tree_.places[member] = {parent, static_cast<uint8_t>(children.size())};
        children.push_back({true, member, summed ? std::vector<uint32_t>{} : way(leg)});
      }
    }
    return tree_;
  }

 private:
  std::vector<uint32_t> way(const drl::Plan::Leg& leg) const {
    std::vector<uint32_t> out;
    for (const int e : leg.links) out.push_back(static_cast<uint32_t>(cable_of_[e]));
    return out;
  }
  void aggregator(int site, const drl::Plan::Leg* leg) {
    const auto index = static_cast<uint32_t>(tree_.aggregators.size());
    at_[site] = index;
    TreeAggregator a;
    a.device = static_cast<uint32_t>(site);
    if (leg) {
      a.parent = static_cast<int>(at_.at(leg->parent));
      auto& children = tree_.aggregators[static_cast<size_t>(a.parent)].children;
      a.child = static_cast<uint8_t>(children.size());
      children.push_back({false, index, way(*leg)});
    }
    tree_.aggregators.push_back(std::move(a));
  }

  const drl::Problem& problem_;
  const std::vector<int>& cable_of_;
  const std::vector<std::vector<uint32_t>>& members_;
  std::map<int, uint32_t> at_;  // site -> aggregator
  Tree tree_;
};

}  // namespace

absl::StatusOr<PredictionCase> draw_prediction_case(uint64_t seed) {
  drl::Random random(seed * 7919 + 17);
  const drl::Topology topology = network_of(static_cast<int>(seed % 6), random);
  drl::ScenarioOptions options;
  options.kind = random.chance(0.5) ? drl::ScenarioKind::kStraggler : drl::ScenarioKind::kPlain;
  options.max_children = 8;
  options.min_bytes = 1e8;
  options.max_bytes = 1e9;
  options.max_stripes = 4;
  options.small_switches = 0;
  auto problem = drl::draw_problem(topology, options, random.bits());
  if (!problem.ok()) return problem.status();
  std::map<std::pair<int, int>, double> narrower;
  for (const drl::Link& l : problem->links) {
    const auto [at, fresh] = narrower.emplace(std::minmax(l.from, l.to), l.available_bps);
    if (!fresh) at->second = std::min(at->second, l.available_bps);
  }
  for (drl::Link& l : problem->links) {
    const double available = narrower.at(std::minmax(l.from, l.to));
    l.available_bps = available < kDead_bps ? 0 : available * kScale;
    l.capacity_bps = l.available_bps / kHeadroom;
  }
  for (drl::Child& c : problem->children) {
    c.workers = std::min(c.workers, kMostWorkers);
    c.access_bps = 1e9;
  }
  problem->job.bytes *= kScale;

  PredictionCase out;
  out.network = topology.name;
  const char* policies[] = {"rule", "shortest", "greedy", "spread", "random"};
  out.policy = policies[seed % 5];
  auto space = drl::Space::create(*problem, 4);
  if (!space.ok()) return space.status();
  const drl::Draft draft = draft_of(out.policy, *space, seed);
  if (draft.columns.empty() || !std::isfinite(draft.time_s()))
    return absl::FailedPreconditionError("no plan carries anything");
  // Links of a few packets a second belong to no training; a case of this kind would take minutes.
  if (draft.time_s() > kLongest_s) return absl::FailedPreconditionError("slower than is worth simulating");
  out.plan = drl::plan_of(*space, draft);
  out.problem = *std::move(problem);
  return out;
}

Scenario scenario_of(const PredictionCase& drawn) {
  const drl::Problem& p = drawn.problem;
  Scenario s;
  s.seed = 1;
  s.devices = static_cast<uint32_t>(p.sites.size());
  s.control_min_ns = s.control_max_ns = base::kMillisecond;
  s.fastest_ways = true;
  // Rates are a hundredth, so pauses between packets are a hundred times as long. With the usual 0.2 ms
  // packets would be followed by a SYNC on every segment, which nobody sends at the rates that the model
  // speaks of.
  s.sync_idle_ns = 50 * base::kMillisecond;
  s.most_packets = 400'000'000;
  std::vector<int> cable_of(p.links.size(), -1);
  std::map<std::pair<int, int>, int> cables;
  for (size_t e = 0; e < p.links.size(); ++e) {
    const drl::Link& l = p.links[e];
    if (l.available_bps <= 0) continue;
    const auto [at, fresh] = cables.emplace(std::minmax(l.from, l.to), static_cast<int>(s.links.size()));
    cable_of[e] = at->second;
    if (!fresh) continue;
    LinkSpec link{false, static_cast<uint32_t>(l.from), static_cast<uint32_t>(l.to), {}};
    link.parameters.rate_bps = static_cast<uint64_t>(l.capacity_bps);
    link.parameters.delay_ns = static_cast<int64_t>(l.delay_s * base::kSecond);
    link.parameters.queue_bytes = kQueueBytes;
    s.links.push_back(link);
  }
  std::vector<std::vector<uint32_t>> members(p.children.size());
  std::vector<MemberSpec> specs;
  for (size_t c = 0; c < p.children.size(); ++c) {
    for (int w = 0; w < p.children[c].workers; ++w) {
      const auto host = static_cast<uint32_t>(s.hosts.size());
      const auto site = static_cast<uint32_t>(p.children[c].site);
      s.hosts.push_back(site);
      LinkSpec line{true, site, host, {}};
      line.parameters.rate_bps = static_cast<uint64_t>(p.children[c].access_bps);
      line.parameters.delay_ns = 10 * base::kMicrosecond;
      s.links.push_back(line);
      members[c].push_back(static_cast<uint32_t>(specs.size()));
      specs.push_back(
          {host, 0, 1, kIterationStartNs + static_cast<int64_t>(p.children[c].ready_s * base::kSecond)});
    }
  }
  const double chunks = p.job.bytes / p.job.payload_bytes;
  for (const drl::Plan::Stripe& stripe : drawn.plan.stripes) {
    const double of_stripe = std::round(chunks * stripe.share);
    if (of_stripe < 1) continue;
    JobSpec job;
    job.lanes = static_cast<uint32_t>(p.job.payload_bytes / 4);
    const double flying = stripe.rate_bps * stripe.round_trip_s / (p.job.payload_bytes * 8.0);
    job.window = window_of(flying);
    job.ring = 2 * job.window;
    job.seq_ring = 2 * job.window;
    const double frame = p.job.payload_bytes + 86.0;
    job.rate_bps = static_cast<uint64_t>(stripe.rate_bps * frame / p.job.payload_bytes);
    job.members = specs;
    job.fixed_tree = StripeTree(p, cable_of, members).build(stripe);
    CollectiveSpec collective;
    collective.type = kernels::ElementType::kInt32;
    collective.count = static_cast<size_t>(of_stripe) * job.lanes;
    job.collectives.push_back(collective);
    s.jobs.push_back(std::move(job));
  }
  return s;
}

absl::StatusOr<Prediction> predict_and_simulate(uint64_t seed) {
  const auto drawn = draw_prediction_case(seed);
  if (!drawn.ok()) return drawn.status();
  World world(scenario_of(*drawn), nullptr);
  const Outcome outcome = world.run();
  if (outcome.violation)
    return absl::InternalError(
        absl::StrCat("seed ", seed, ": violation ", outcome.violation->name, ": ", outcome.violation->text));
  Prediction out{seed, drawn->network, drawn->policy, drawn->plan.time_s, 0};
  for (uint32_t j = 0; j < world.job_count(); ++j)
    for (uint32_t m = 0; m < world.job(j).member_count(); ++m)
      out.simulated_s =
          std::max(out.simulated_s,
                   static_cast<double>(world.job(j).member(m).times().back().second - kIterationStartNs) /
                       base::kSecond);
  return out;
}

double rank_correlation(const std::vector<Prediction>& all) {
  const size_t n = all.size();
  const auto ranks = [&](auto value) {
    std::vector<size_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value(all[a]) < value(all[b]); });
    std::vector<double> rank(n);
    for (size_t i = 0; i < n; ++i) rank[order[i]] = static_cast<double>(i);
    return rank;
  };
  const auto x = ranks([](const Prediction& p) { return p.predicted_s; });
  const auto y = ranks([](const Prediction& p) { return p.simulated_s; });
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  const auto count = static_cast<double>(n);
  return n < 2 ? 0 : 1 - 6 * squares / (count * (count * count - 1));
}

namespace {

absl::Status write_scatter(const std::vector<Prediction>& all, const std::string& file) {
  std::map<std::string, report::Curve> by_policy;
  double low = 1e9, high = 0;
  for (const Prediction& p : all) {
    by_policy[p.policy].name = p.policy;
    by_policy[p.policy].points.emplace_back(std::log10(p.predicted_s), std::log10(p.simulated_s));
    low = std::min({low, p.predicted_s, p.simulated_s});
    high = std::max({high, p.predicted_s, p.simulated_s});
  }
  low = std::log10(low) - 0.05;
  high = std::log10(high) + 0.05;
  std::vector<report::Curve> dots;
  for (auto& [name, curve] : by_policy) dots.push_back(std::move(curve));
  std::ofstream out(file);
  out << report::svg_chart({"Iteration time: flow model and simulator", "predicted, log10 s",
                            "simulated, log10 s", low, high, low, high},
                           {{"equal", {{low, low}, {high, high}}}}, dots)
      << std::flush;
  return out ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(file, ": cannot be written"));
}

}  // namespace

absl::StatusOr<std::vector<report::Row>> measure_prediction(const PredictionOptions& o) {
  // A seed whose network falls apart is no case; the next one takes its place.
  std::vector<Prediction> all;
  absl::Status failure;
  std::mutex mutex;
  std::atomic<uint64_t> next{o.first_seed};
  const auto work = [&] {
    for (;;) {
      const uint64_t seed = next++;
      {
        const std::lock_guard lock(mutex);
        if (!failure.ok() || seed >= o.first_seed + 4 * static_cast<uint64_t>(o.cases)) return;
      }
      const auto found = predict_and_simulate(seed);
      const std::lock_guard lock(mutex);
      if (found.ok()) all.push_back(*found);
      if (found.ok() && o.verbose)
        fmt::print("seed {:4} {:10} {:9} predicted {:.4f} s simulated {:.4f} s {:+.1f} %\n", seed,
                   found->network, found->policy, found->predicted_s, found->simulated_s,
                   100 * found->error());
      if (absl::IsInternal(found.status())) failure = found.status();
      if (static_cast<int>(all.size()) >= o.cases) return;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < o.threads; ++t) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  if (!failure.ok()) return failure;
  std::sort(all.begin(), all.end(), [](const Prediction& a, const Prediction& b) { return a.seed < b.seed; });
  all.resize(std::min<size_t>(all.size(), static_cast<size_t>(o.cases)));
  if (!o.svg.empty())
    if (absl::Status s = write_scatter(all, o.svg); !s.ok()) return s;
  std::vector<report::Row> rows;
  std::vector<double> errors, signed_errors;
  std::map<std::string, std::vector<double>> by_policy;
  for (const Prediction& p : all) {
    errors.push_back(std::abs(p.error()));
    signed_errors.push_back(p.error());
    by_policy[p.policy].push_back(std::abs(p.error()));
    const std::map<std::string, std::string> group = {
        {"seed", std::to_string(p.seed)}, {"network", p.network}, {"policy", p.policy}};
    rows.push_back({"predicted", p.predicted_s, "s", group});
    rows.push_back({"simulated", p.simulated_s, "s", group});
  }
  std::vector<report::Row> head = {
      {"cases", static_cast<double>(all.size()), "1", {}, 200.0},
      {"rank_correlation", rank_correlation(all), "1", {}, 0.9},
      {"relative_error_median", report::median(errors), "1", {}, 0.10, report::spread_of(errors)},
      {"signed_error_median", report::median(signed_errors), "1", {}}};
  for (const auto& [policy, e] : by_policy)
    head.push_back(
        {"relative_error_median", report::median(e), "1", {{"policy", policy}}, {}, report::spread_of(e)});
  rows.insert(rows.begin(), head.begin(), head.end());
  return rows;
}

}  // namespace l3dml::sim
