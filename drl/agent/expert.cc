#include "drl/agent/expert.h"

#include <algorithm>
#include <cmath>

#include <tbb/parallel_for.h>

namespace l3dml::drl {
namespace {

constexpr double kTemperature =
    0.004;                      // candidates whose outcomes differ by less than this part are about as good
constexpr double kStray = 0.3;  // chance of a random choice, so that lessons cover what a pupil may meet

std::vector<Lesson> teach(const Space& space, int steps, Random random) {
  std::vector<Lesson> out;
  Refine refine(space, steps);
  for (;;) {
    const Observation& o = refine.observe();
    if (o.candidates == 0) return out;
    Lesson lesson{o, {}, 0};
    std::vector<double> outcome;
    for (int c = 0; c < o.candidates; ++c) {
      Refine ahead(refine);
      ahead.choose(c);
      while (ahead.observe().candidates > 0) ahead.choose(ahead.cheapest_candidate());
      outcome.push_back(std::log(ahead.draft().time_s()));
    }
    const auto best = std::min_element(outcome.begin(), outcome.end());
    double total = 0;
    for (const double x : outcome) total += std::exp((*best - x) / kTemperature);
    for (const double x : outcome)
      lesson.target.push_back(static_cast<float>(std::exp((*best - x) / kTemperature) / total));
    lesson.value = static_cast<float>(std::log(refine.time_s()) - *best);
    const int choice = random.chance(kStray) ? random.below(lesson.observation.candidates)
                                             : static_cast<int>(best - outcome.begin());
    out.push_back(std::move(lesson));
    refine.choose(choice);
  }
}

}  // namespace

std::vector<Lesson> lessons(const Pool& pool, int steps, int count, uint64_t seed) {
  std::vector<Lesson> out;
  const size_t chunk = 32;
  for (size_t from = 0; static_cast<int>(out.size()) < count && from < 20 * pool.size(); from += chunk) {
    std::vector<std::vector<Lesson>> part(chunk);
    tbb::parallel_for(size_t{0}, chunk, [&](size_t i) {
      part[i] = teach(*pool[(from + i) % pool.size()], steps, Random(seed * 1000003 + from + i));
    });
    for (auto& p : part) std::move(p.begin(), p.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace l3dml::drl
