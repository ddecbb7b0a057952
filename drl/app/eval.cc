#include "drl/app/eval.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <tbb/parallel_for.h>

#include "absl/strings/str_cat.h"
#include "drl/optimum/optimum.h"
#include "drl/policy/decide.h"

namespace l3dml::drl {
namespace {

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double at_part(const std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0
                        : sorted[std::min(sorted.size() - 1,
                                          static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

template <typename Decide>
Timed timed(Decide decide) {
  const double begin = thread_cpu_s();
  const double time_s = decide();
  return {time_s, thread_cpu_s() - begin};
}

CaseResult run_case(const Space& space, const std::vector<NamedModel>& models, uint64_t seed) {
  CaseResult r;
  r.sites = space.site_count();
  r.children = space.child_count();
  double best = kUnlimited;
  for (const Baseline& b : guard_baselines()) {
    r.by_policy[b.name] = timed([&] { return b.plan(space).time_s(); });
    best = std::min(best, r.by_policy[b.name].time_s);
  }
  r.by_policy["random"] = timed([&] { return random_plan(space, seed).time_s(); });
  r.by_policy["rule"] = timed(
      [&] { return refine_by_rule(space, models.empty() ? 12 : models[0].model->info.steps).time_s(); });
  for (const NamedModel& m : models) {
    const Timed raw = timed([&] { return refine_with(space, *m.model).time_s(); });
    r.by_policy[m.name] = raw;
    r.by_policy[m.name + " guarded"] = {std::min(raw.time_s, best), raw.decision_s};
  }
  return r;
}

}  // namespace

std::vector<EvalSet> standard_sets(int n) {
  return {{"abilene", "seen", {{"abilene"}, 0, 0, n}},
          {"b4", "seen", {{"b4"}, 0, 0, n}},
          {"random 6-14", "seen", {{}, 6, 14, n}},
          {"geant", "unseen", {{"geant"}, 0, 0, n}},
          {"random 16-22", "unseen", {{}, 16, 22, n}}};
}

absl::StatusOr<std::vector<Case>> draw_cases(const PoolOptions& problems, uint64_t seed) {
  auto pool = draw_pool(problems, seed);
  if (!pool.ok()) return pool.status();
  std::vector<Case> cases(pool->size());
  tbb::parallel_for(size_t{0}, pool->size(), [&](size_t i) {
    const auto found = bracket(*(*pool)[i]);
    if (found.ok()) cases[i] = {(*pool)[i], found->lower_s};
  });
  std::erase_if(cases, [](const Case& c) { return !c.space; });
  return cases;
}

absl::StatusOr<std::vector<CaseResult>> evaluate(const std::vector<EvalSet>& sets,
                                                 const std::vector<NamedModel>& models, uint64_t seed,
                                                 const std::function<void(const std::string&)>& progress) {
  std::vector<CaseResult> out;
  for (const EvalSet& set : sets) {
    for (const ScenarioKind kind : {ScenarioKind::kPlain, ScenarioKind::kStraggler}) {
      PoolOptions problems = set.problems;
      problems.kind = kind;
      problems.count = std::max(1, problems.count / 2);
      auto pool = draw_pool(problems, seed + (kind == ScenarioKind::kStraggler ? 1000 : 0));
      if (!pool.ok()) return pool.status();
      std::vector<CaseResult> part(pool->size());
      tbb::parallel_for(size_t{0}, pool->size(), [&](size_t i) {
        const auto found = bracket(*(*pool)[i]);
        if (!found.ok()) return;
        part[i] = run_case(*(*pool)[i], models, seed + i);
        part[i].lower_s = found->lower_s;
        part[i].upper_s = found->upper_s;
        part[i].set = set.name;
        part[i].split = set.split;
        part[i].kind = kind == ScenarioKind::kPlain ? "plain" : "straggler";
      });
      std::erase_if(part, [](const CaseResult& r) { return r.set.empty(); });
      if (progress)
        progress(absl::StrCat(set.name, " ", kind == ScenarioKind::kPlain ? "plain" : "straggler", ": ",
                              part.size(), " cases"));
      std::move(part.begin(), part.end(), std::back_inserter(out));
    }
  }
  return out;
}

Summary summarise(const std::vector<const CaseResult*>& cases, const std::string& policy) {
  Summary s;
  std::vector<double> decision;
  double sum = 0, shortest = 0, greedy_sum = 0;
  for (const CaseResult* c : cases) {
    const Timed& t = c->by_policy.at(policy);
    s.ratios.push_back(t.time_s / c->lower_s);
    decision.push_back(t.decision_s);
    sum += t.time_s;
    shortest += c->by_policy.at("shortest").time_s;
    greedy_sum += c->by_policy.at("greedy").time_s;
  }
  s.cases = static_cast<int>(cases.size());
  if (cases.empty()) return s;
  std::vector<double> means, tails, sample(s.ratios.size());
  Random random(1);
  for (int i = 0; i < 400; ++i) {
    for (double& x : sample) x = s.ratios[random.below(s.cases)];
    std::sort(sample.begin(), sample.end());
    means.push_back(mean_of(sample));
    tails.push_back(at_part(sample, 0.95));
  }
  std::sort(means.begin(), means.end());
  std::sort(tails.begin(), tails.end());
  std::sort(s.ratios.begin(), s.ratios.end());
  std::sort(decision.begin(), decision.end());
  s.mean = mean_of(s.ratios);
  s.p50 = at_part(s.ratios, 0.5);
  s.p95 = at_part(s.ratios, 0.95);
  s.mean_interval = {at_part(means, 0.025), at_part(means, 0.975)};
  s.p95_interval = {at_part(tails, 0.025), at_part(tails, 0.975)};
  s.against_shortest = 1 - sum / shortest;
  s.against_greedy = 1 - sum / greedy_sum;
  s.decision_p50_s = at_part(decision, 0.5);
  s.decision_p99_s = at_part(decision, 0.99);
  return s;
}

}  // namespace l3dml::drl
