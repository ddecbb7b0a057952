#include "drl/app/speed.h"

#include <algorithm>
#include <bit>
#include <ctime>

#include "drl/env/scenario.h"
#include "drl/policy/decide.h"

namespace l3dml::drl {
namespace {

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Fingerprint {
 public:
  void add(const std::vector<float>& values) {
    for (const float v : values) add(std::bit_cast<uint32_t>(v));
  }
  void add(uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3ull; }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ull;
};

Topology twelve(int kind, Random& random) {
  if (kind == 0) return *bundled_topology("abilene");
  if (kind == 1) return *bundled_topology("b4");
  return random_topology(12, random, 0);
}

long episode(const Space& space, int steps, Fingerprint* print) {
  long decisions = 0;
  Refine refine(space, steps);
  for (;;) {
    const Observation& o = refine.observe();
    if (print) {
      for (const auto* values : {&o.link, &o.takes, &o.cost, &o.candidate}) print->add(*values);
      for (const float v : o.global) print->add(std::bit_cast<uint32_t>(v));
      print->add(std::bit_cast<uint64_t>(refine.time_s()));
    }
    if (o.candidates == 0) break;
    refine.choose(refine.cheapest_candidate());
    ++decisions;
  }
  if (print) print->add(std::bit_cast<uint64_t>(refine.draft().time_s()));
  return decisions;
}

}  // namespace

std::vector<std::shared_ptr<const Space>> twelve_sites(int count, int children, bool exact, uint64_t seed) {
  std::vector<std::shared_ptr<const Space>> out;
  for (uint64_t i = 0; static_cast<int>(out.size()) < count; ++i) {
    Random random(seed * 1000003 + i);
    Topology topology = twelve(static_cast<int>(i % 3), random);
    for (int routers = exact ? 4 : 0; routers > 0;) {
      Site& site = topology.sites[random.below(12)];
      routers -= site.aggregates;
      site.aggregates = false;
    }
    for (Site& s : topology.sites)
      if (s.aggregates) s.slots = 1 << 22;
    World world(topology, random.bits());
    world.advance(random.between(0, 1200));
    const int wanted = exact ? children : 3 + random.below(children - 2);
    std::vector<Child> drawn = draw_children(topology, wanted, true, random);
    if (exact && static_cast<int>(drawn.size()) != children) continue;
    Job job;
    job.bytes = random.log_between(1e6, 4e9);
    auto space = Space::create(world.problem_for(std::move(drawn), job), 4);
    if (space.ok()) out.push_back(std::make_shared<const Space>(*std::move(space)));
  }
  return out;
}

EnvironmentSpeed environment_speed(const std::vector<std::shared_ptr<const Space>>& problems, int steps,
                                   double seconds) {
  EnvironmentSpeed out;
  Fingerprint print;
  for (const auto& space : problems) episode(*space, steps, &print);
  out.fingerprint = print.value();
  const double begin = thread_cpu_s();
  double used = 0;
  while (used < seconds) {
    for (const auto& space : problems) out.decisions += episode(*space, steps, nullptr);
    used = thread_cpu_s() - begin;
  }
  out.per_second = static_cast<double>(out.decisions) / used;
  return out;
}

DecisionSpeed decision_speed(const std::vector<std::shared_ptr<const Space>>& problems, const Model& model,
                             int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i)
    for (const auto& space : problems) {
      const double begin = thread_cpu_s();
      refine_with(*space, model);
      times.push_back(thread_cpu_s() - begin);
    }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

}  // namespace l3dml::drl
