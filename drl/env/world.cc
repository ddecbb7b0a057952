#include "drl/env/world.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace l3dml::drl {
namespace {

Flow stripe_flow(const Space& space, const Column& column, double rate_bps) {
  Flow flow;
  const double wire = 1 / wire_efficiency(space.problem().job);
  for (int e = 0; e < space.link_count(); ++e)
    if (column.takes[e] > 0) flow.links.emplace_back(e, column.takes[e] * wire);
  flow.ceiling_bps = rate_bps;
  return flow;
}

}  // namespace

World::World(Topology topology, uint64_t seed, WorldOptions options)
    : topology_(std::move(topology)), options_(options), random_(seed) {
  const int n = static_cast<int>(topology_.sites.size());
  const int links = static_cast<int>(topology_.links.size());
  reverse_.resize(links);
  double capacity = 0;
  for (int e = 0; e < links; ++e) {
    capacity += topology_.links[e].capacity_bps;
    for (int r = 0; r < links; ++r)
      if (topology_.links[r].from == topology_.links[e].to &&
          topology_.links[r].to == topology_.links[e].from)
        reverse_[e] = r;
  }
  Problem shape;
  shape.sites = topology_.sites;
  shape.links = topology_.links;
  const PathTable paths = PathTable::build(shape, 1);
  std::vector<double> mass(n);  // gravity model
  for (double& m : mass) m = random_.log_between(0.3, 3);
  double hops = 0;
  for (int i = 0; i < 2 * n; ++i) {
    const int from = random_.below(n), to = random_.below(n);
    if (paths.first(from, to) == paths.last(from, to)) continue;
    Background b;
    b.mean_bps = mass[from] * mass[to];
    b.longitude = topology_.sites[from].longitude;
    b.bursting = random_.chance(1.0 / 6);
    for (int e : paths.links(paths.first(from, to))) b.flow.links.emplace_back(e, 1);
    hops += b.mean_bps * static_cast<double>(b.flow.links.size());
    background_.push_back(std::move(b));
  }
  now_s_ = random_.between(0, 86400);
  for (Background& b : background_) {
    b.mean_bps *= options_.background_load * capacity / hops;
    set_demand(b);
  }
}

void World::set_demand(Background& b) const {
  const double local = (now_s_ / 86400 + b.longitude / 360) * 2 * std::numbers::pi;
  b.flow.ceiling_bps = b.mean_bps * (1 - 0.6 * std::cos(local)) * (b.bursting ? options_.burst_factor : 0.4);
}

void World::advance(double seconds) {
  constexpr double kStep_s = 10;
  for (double left = seconds; left > 0; left -= kStep_s) {
    const double dt = std::min(left, kStep_s);
    now_s_ += dt;
    std::erase_if(troubles_, [&](const Trouble& t) { return t.until_s <= now_s_; });
    if (random_.chance(options_.degrade_per_hour * dt / 3600))
      degrade(random_.below(static_cast<int>(topology_.links.size())), random_.log_between(0.05, 0.5),
              random_.exponential(options_.trouble_mean_s));
    if (random_.chance(options_.fail_per_hour * dt / 3600))
      degrade(random_.below(static_cast<int>(topology_.links.size())), 0,
              random_.exponential(options_.trouble_mean_s));
    for (Background& b : background_) {
      if (random_.chance(1 - std::exp(-dt / (options_.burst_mean_s * (b.bursting ? 1 : 5)))))
        b.bursting = !b.bursting;
      set_demand(b);
    }
  }
}

void World::degrade(int link, double factor, double seconds) {
  troubles_.push_back({link, factor, now_s_ + seconds});
  troubles_.push_back({reverse_[link], factor, now_s_ + seconds});
}

int World::add_job(const Space& space, const std::vector<Column>& columns,
                   const std::vector<double>& rates_bps) {
  RunningJob job{next_job_++, {}};
  for (size_t i = 0; i < columns.size(); ++i)
    if (rates_bps[i] > 0) job.stripes.push_back(stripe_flow(space, columns[i], rates_bps[i]));
  jobs_.push_back(std::move(job));
  return jobs_.back().id;
}

void World::remove_job(int id) {
  std::erase_if(jobs_, [&](const RunningJob& job) { return job.id == id; });
}

std::vector<double> World::capacity_now() const {
  std::vector<double> capacity;
  for (const Link& l : topology_.links) capacity.push_back(l.capacity_bps);
  for (const Trouble& t : troubles_)
    capacity[t.link] = std::min(capacity[t.link], topology_.links[t.link].capacity_bps * t.factor);
  return capacity;
}

std::vector<Flow> World::flows(int except) const {
  std::vector<Flow> all;
  for (const Background& b : background_) all.push_back(b.flow);
  for (const RunningJob& job : jobs_)
    if (job.id != except) all.insert(all.end(), job.stripes.begin(), job.stripes.end());
  return all;
}

Problem World::problem_for(std::vector<Child> children, Job job, int own) const {
  Problem p;
  p.sites = topology_.sites;
  p.links = topology_.links;
  p.children = std::move(children);
  p.job = job;
  const std::vector<double> capacity = capacity_now();
  const std::vector<Flow> others = flows(own);
  const std::vector<double> rates = max_min(capacity, others);
  std::vector<std::vector<std::pair<double, double>>> on_link(capacity.size());  // rate, times
  for (size_t i = 0; i < others.size(); ++i)
    for (const auto& [link, times] : others[i].links) on_link[link].emplace_back(rates[i], times);
  for (size_t e = 0; e < capacity.size(); ++e) {
    // Water level of a newcomer that wants everything: others above the level are pushed down to it.
    auto& list = on_link[e];
    std::sort(list.begin(), list.end());
    double left = capacity[e], weight = 1, level = 0;
    for (const auto& [rate, times] : list) weight += times;
    for (const auto& [rate, times] : list) {
      if (rate * weight > left) break;
      left -= rate * times;
      weight -= times;
    }
    level = std::max(0.0, left / weight);
    p.links[e].available_bps = std::min(level, p.links[e].capacity_bps);
  }
  return p;
}

double World::realised_time_s(const Space& space, const std::vector<Column>& columns,
                              const std::vector<double>& rates_bps, const std::vector<double>& shares) const {
  std::vector<Flow> all = flows(-1);
  const size_t others = all.size();
  for (size_t i = 0; i < columns.size(); ++i) all.push_back(stripe_flow(space, columns[i], rates_bps[i]));
  const std::vector<double> rates = max_min(capacity_now(), all);
  double time = 0;
  for (size_t i = 0; i < columns.size(); ++i)
    if (shares[i] > 0)
      time = std::max(time, columns[i].latency_s + shares[i] * space.bits() / rates[others + i]);
  return time;
}

}  // namespace l3dml::drl
