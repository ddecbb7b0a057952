#include "drl/agent/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <tbb/parallel_for.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drl/agent/expert.h"

namespace l3dml::drl {
namespace {

using Clock = std::chrono::steady_clock;

double merit(double mean, double p95) { return mean - 1 + (p95 - 1) / 4; }  // smaller is better

std::vector<Actor> actors_for(const Pool& pool, const TrainOptions& o, int update) {
  std::vector<Actor> actors;  // seeded by the update, so that a resumed run sees what an unbroken one would
  for (int i = 0; i < o.environments; ++i) {
    const uint64_t seed = (o.seed * 100003 + static_cast<uint64_t>(update)) * 4099 + static_cast<uint64_t>(i);
    actors.push_back(
        {std::make_unique<RoutingEnvironment>(pool, o.steps, seed), Random(seed ^ 0x5bd1e995), true});
  }
  return actors;
}

class Log {
 public:
  Log(const TrainOptions& o, const std::function<void(const TrainRow&)>& progress) : progress_(progress) {
    if (o.directory.empty()) return;
    const std::string file = o.directory + "/progress.csv";
    const bool more = o.resume && std::filesystem::exists(file);
    out_.open(file, more ? std::ios::app : std::ios::trunc);
    if (!more)
      out_ << "phase,update,seconds,decisions,reward,policy_loss,value_loss,entropy,kl,clipped,explained_"
              "variance,epochs,"
              "validation_mean,validation_p95\n";
  }
  void add(const TrainRow& r) {
    if (out_.is_open())
      out_ << absl::StrFormat("%s,%d,%.1f,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%d,%.6g,%.6g\n", r.phase,
                              r.update, r.seconds, r.decisions, r.reward, r.ppo.policy_loss, r.ppo.value_loss,
                              r.ppo.entropy, r.ppo.kl, r.ppo.clipped, r.ppo.explained_variance, r.ppo.epochs,
                              r.mean, r.p95)
           << std::flush;
    rows.push_back(r);
    if (progress_) progress_(r);
  }
  std::vector<TrainRow> rows;

 private:
  std::function<void(const TrainRow&)> progress_;
  std::ofstream out_;
};

}  // namespace

absl::StatusOr<Pool> draw_pool(const PoolOptions& o, uint64_t seed) {
  std::vector<Topology> named;
  std::vector<std::shared_ptr<const PathTable>> paths;
  for (const std::string& name : o.topologies) {
    auto t = read_topology(name);
    if (!t.ok()) return t.status();
    Problem shape;
    shape.sites = t->sites;
    shape.links = t->links;
    paths.push_back(std::make_shared<PathTable>(PathTable::build(shape, 4)));
    named.push_back(*std::move(t));
  }
  if (o.max_sites > 0 && (o.min_sites < 2 || o.min_sites > o.max_sites))
    return absl::InvalidArgumentError("sizes of random WANs must be LOW..HIGH with 2 <= LOW <= HIGH");
  if (named.empty() && o.max_sites == 0)
    return absl::InvalidArgumentError("no topologies to draw problems from");
  if (o.count < 1) return absl::InvalidArgumentError("at least one problem must be drawn");
  Pool pool(o.count);
  std::vector<absl::Status> status(o.count);
  tbb::parallel_for(0, o.count, [&](int i) {
    Random random(seed * 7919 + static_cast<uint64_t>(i));
    ScenarioOptions scenario;
    const bool straggler = random.chance(0.5);
    scenario.kind = o.kind.value_or(straggler ? ScenarioKind::kStraggler : ScenarioKind::kPlain);
    const bool generated = named.empty() || (o.max_sites > 0 && random.chance(0.5));
    const int at = generated ? -1 : random.below(static_cast<int>(named.size()));
    for (int attempt = 0; attempt < 10; ++attempt) {
      const Topology t =
          generated ? random_topology(o.min_sites + random.below(o.max_sites - o.min_sites + 1), random)
                    : named[at];
      auto problem = draw_problem(t, scenario, random.bits() >> 1);
      if (problem.ok()) {
        auto space = Space::create(*std::move(problem), 4, generated ? nullptr : paths[at]);
        if (space.ok() && std::isfinite(Refine(*space, 1).time_s())) {
          pool[i] = std::make_shared<const Space>(*std::move(space));
          return;
        }
        status[i] = space.status();
      } else {
        status[i] = problem.status();
      }
    }
  });
  for (int i = 0; i < o.count; ++i)
    if (!pool[i])
      return absl::FailedPreconditionError(absl::StrCat("no problem could be drawn: ", status[i].message()));
  return pool;
}

std::vector<double> ratios(const Network& network, int steps, const std::vector<Case>& cases) {
  std::vector<double> out(cases.size());
  tbb::parallel_for(size_t{0}, cases.size(), [&](size_t i) {
    Refine refine(*cases[i].space, steps);
    Network::Scratch scratch;
    std::vector<float> scores;
    while (refine.observe().candidates > 0) {
      network.scores(refine.observe(), scratch, scores);
      refine.choose(static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
    }
    out[i] = refine.draft().time_s() / cases[i].reference_s;
  });
  std::sort(out.begin(), out.end());
  return out;
}

absl::StatusOr<Trained> train(const TrainOptions& o, const std::vector<Case>& validation,
                              const std::function<void(const TrainRow&)>& progress) {
  const auto begin = Clock::now();
  double before_s = 0;  // of the run that is resumed
  const auto seconds = [&] { return before_s + std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto pool = draw_pool(o.problems, o.seed);
  if (!pool.ok()) return pool.status();
  const std::string checkpoint = o.directory + "/checkpoint", state_file = o.directory + "/state";
  Log log(o, progress);
  const std::unique_ptr<Learner> learner = Learner::create(o.hidden, o.seed);
  Trained best;
  best.mean = best.p95 = kUnlimited;
  int update = 0;
  long decisions = 0;

  const auto validate = [&](TrainRow& row) {
    const auto network = Network::create(o.hidden, learner->weights());
    if (!network.ok()) return network.status();
    if (validation.empty()) {
      best.weights = network->weights();
      return absl::OkStatus();
    }
    const std::vector<double> r = ratios(*network, o.steps, validation);
    for (const double x : r) row.mean += x / static_cast<double>(r.size());
    row.p95 = r[r.size() * 95 / 100];
    if (merit(row.mean, row.p95) < merit(best.mean, best.p95)) {
      best.mean = row.mean;
      best.p95 = row.p95;
      best.weights = network->weights();
      ModelInfo info;
      info.name = "best";
      info.hidden = o.hidden;
      info.steps = o.steps;
      if (!o.directory.empty())
        std::ofstream(o.directory + "/best.model") << format_model(info, best.weights);
    }
    return absl::OkStatus();
  };
  const auto save = [&]() -> absl::Status {
    if (o.directory.empty()) return absl::OkStatus();
    std::ofstream(state_file) << update << " " << decisions << " " << seconds() << " " << best.mean << " "
                              << best.p95 << "\n";
    return learner->save(checkpoint);
  };

  if (o.resume) {
    std::ifstream in(state_file);
    if (!(in >> update >> decisions >> before_s >> best.mean >> best.p95))
      return absl::NotFoundError(absl::StrCat(state_file, ": no checkpoint to resume from"));
    if (absl::Status s = learner->restore(checkpoint); !s.ok()) return s;
    auto kept = read_model(o.directory + "/best.model");
    if (!kept.ok()) return kept.status();
    best.weights = kept->network.weights();
  } else {
    const std::vector<Lesson> taught = lessons(*pool, o.steps, std::max(o.lessons, 256), o.seed);
    std::vector<const Observation*> seen;
    for (const Lesson& l : taught) seen.push_back(&l.observation);
    learner->set_normalisation(seen);
    decisions += static_cast<long>(taught.size());
    TrainRow row{"lessons", 0, seconds(), decisions, 0, {}, 0, 0};
    log.add(row);
    for (int epoch = 1; o.lessons > 0 && epoch <= o.imitation_epochs; ++epoch) {
      const double rate = 2e-3 * (1 - 0.9 * epoch / o.imitation_epochs);
      row = {"imitation", epoch, 0, decisions, learner->imitate(taught, 128, rate), {}, 0, 0};
      if (epoch % 3 == 0 || epoch == o.imitation_epochs)
        if (absl::Status s = validate(row); !s.ok()) return s;
      row.seconds = seconds();
      log.add(row);
    }
    if (absl::Status s = save(); !s.ok()) return s;
  }

  const auto reached = [&] {
    return o.target_mean > 0 && best.mean <= o.target_mean && best.p95 <= o.target_p95;
  };
  while (update < o.updates && !reached()) {
    std::vector<Actor> actors = actors_for(*pool, o, update);
    const auto network = Network::create(o.hidden, learner->weights());
    if (!network.ok()) return network.status();
    const auto experience = roll_out(*network, actors, std::max(1, o.steps_per_update / o.environments));
    ++update;
    TrainRow row{"ppo", update, 0, 0, 0, {}, 0, 0};
    double reward = 0, episodes = 0;
    for (const Trajectory& t : experience)
      for (const Transition& x : t) {
        reward += x.reward;
        episodes += x.terminated;
        ++decisions;
      }
    row.decisions = decisions;
    row.reward = reward / std::max(1.0, episodes);
    PpoOptions ppo = o.ppo;
    ppo.learning_rate *= 1 - 0.9 * update / std::max(1, o.updates);
    row.ppo = learner->update(experience, ppo);
    if (absl::Status s = validate(row); !s.ok()) return s;
    row.seconds = seconds();
    log.add(row);
    if (absl::Status s = save(); !s.ok()) return s;
  }
  if (best.weights.empty()) best.weights = learner->weights();

  const auto network = Network::create(o.hidden, best.weights);
  if (!network.ok()) return network.status();
  std::vector<float> strange;
  for (const auto& space : *pool) {
    Refine refine(*space, o.steps);
    if (const Observation& seen = refine.observe(); seen.candidates > 0)
      strange.push_back(network->strangeness(seen));
  }
  std::sort(strange.begin(), strange.end());
  if (!strange.empty()) best.strangeness = strange[strange.size() * 999 / 1000];
  best.rows = std::move(log.rows);
  return best;
}

}  // namespace l3dml::drl
