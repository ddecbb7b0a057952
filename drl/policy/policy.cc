#include "drl/policy/policy.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drl/policy/decide.h"
#include "drl/policy/model_set.h"

namespace l3dml::drl {
namespace {

class GuardedPolicy : public Policy {
 public:
  explicit GuardedPolicy(PolicyOptions options) : options_(std::move(options)) {}

  absl::Status load() {
    std::vector<std::string> refused;
    auto set = ModelSet::load(options_.model_directory, refused);
    if (!set.ok()) return set.status();
    const std::lock_guard lock(mutex_);
    set_ = std::make_shared<const ModelSet>(*std::move(set));
    refused_ = std::move(refused);
    return absl::OkStatus();
  }

  absl::Status reload() override {
    std::vector<std::string> refused;
    auto set = ModelSet::load(options_.model_directory, refused);
    if (!set.ok()) return set.status();
    if (!refused.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "models left as they were: ", absl::StrJoin(refused, "; "), ": mend or remove the file"));
    const std::lock_guard lock(mutex_);
    set_ = std::make_shared<const ModelSet>(*std::move(set));
    refused_.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<Decision> decide(const Problem& problem) const override {
    auto space = Space::create(problem, options_.paths);
    if (!space.ok()) return space.status();
    const Gate gate = options_.rule.empty()
                          ? set()->pick(problem)
                          : Gate{nullptr, absl::StrCat("rule ", options_.rule, " was asked for")};
    Decision d;
    d.why = gate.why;
    d.policy_s = d.baseline_s = kUnlimited;
    Draft best;
    for (const Baseline& b : guard_baselines()) {
      if (!options_.rule.empty() && options_.rule != b.name) continue;
      Draft draft = b.plan(*space);
      if (draft.columns.empty() || !(draft.time_s() < d.baseline_s)) continue;
      d.baseline_s = draft.time_s();
      d.baseline = d.source = b.name;
      best = std::move(draft);
    }
    if (gate.model) {
      float strange = 0;
      Draft draft = refine_with(*space, *gate.model, &strange);
      const ModelInfo& info = gate.model->info;
      if (info.strangeness > 0 && strange > info.strangeness) {
        absl::StrAppend(&d.why, absl::StrFormat("; but out of distribution (%.2f above %.2f)", strange,
                                                info.strangeness));
      } else if (!draft.columns.empty() && std::isfinite(draft.time_s())) {
        d.policy_s = draft.time_s();
        if (d.policy_s <= d.baseline_s) {
          d.source = info.name;
          best = std::move(draft);
        } else {
          absl::StrAppend(&d.why, absl::StrFormat("; guard: %s is faster (%.4g s against %.4g s)", d.baseline,
                                                  d.baseline_s, d.policy_s));
        }
      }
    }
    if (best.columns.empty())
      return absl::FailedPreconditionError(
          "no plan has a positive rate: switches without slots or links without room");
    if (d.source == d.baseline) absl::StrAppend(&d.why, "; ", d.baseline, " decided");
    d.plan = plan_of(*space, best);
    return d;
  }

  absl::StatusOr<Decision> revise(const Problem& problem, const Plan& running) const override {
    auto d = decide(problem);
    if (!d.ok()) return d;
    const auto now = predict_plan(problem, running);
    if (!now.ok()) {
      absl::StrAppend(&d->why, "; ", now.status().message(), ": changed");
      return d;
    }
    d->keep = d->plan.time_s > *now * (1 - options_.hysteresis);
    absl::StrAppend(&d->why, absl::StrFormat("; running plan takes %.4g s now, the new one %.4g s: %s", *now,
                                             d->plan.time_s, d->keep ? "kept" : "changed"));
    if (d->keep) {
      d->plan = running;
      d->plan.time_s = *now;
      d->source = "running";
    }
    return d;
  }

  absl::StatusOr<double> predict(const Problem& problem, const Plan& plan) const override {
    return predict_plan(problem, plan);
  }

  std::vector<ModelSummary> models() const override {
    std::vector<ModelSummary> out;
    for (const auto& m : set()->models()) {
      const auto score = [&](const char* name) {
        const auto it = m->info.scores.find(name);
        return it == m->info.scores.end() ? 0 : it->second;
      };
      out.push_back({m->info.name, m->info.hash, score("mean"), score("p95")});
    }
    return out;
  }

  std::vector<std::string> refused() const override {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  std::shared_ptr<const ModelSet> set() const {
    const std::lock_guard lock(mutex_);
    return set_;
  }

  PolicyOptions options_;
  mutable std::mutex mutex_;  // guards the pointer and the list, not the set
  std::shared_ptr<const ModelSet> set_;
  std::vector<std::string> refused_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> Policy::create(PolicyOptions options) {
  if (options.paths < 1 || options.paths > 16) return absl::InvalidArgumentError("paths must lie in 1..16");
  const auto is_rule = [&](const Baseline& b) { return options.rule == b.name; };
  const auto& rules = guard_baselines();
  if (!options.rule.empty() && std::none_of(rules.begin(), rules.end(), is_rule))
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no rule ", options.rule, ": ",
        absl::StrJoin(rules, ", ", [](std::string* out, const Baseline& b) { *out += b.name; })));
  auto policy = std::make_unique<GuardedPolicy>(std::move(options));
  if (absl::Status s = policy->load(); !s.ok()) return s;
  return policy;
}

}  // namespace l3dml::drl
