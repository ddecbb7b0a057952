#include "tools/sim/mutation_check.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "tools/sim/batch.h"

namespace l3dml::sim {
namespace {

constexpr uint64_t kMostWithFault = 1'500'000;  // sound scenarios need far fewer

constexpr MutationResult kAll[] = {{"none", ""},
#define L3DML_X(name, text) {#name, text},
                                   L3DML_MUTATIONS(L3DML_X)
#undef L3DML_X
};

MutationResult check(Mutation mutation, const MutationOptions& options) {
  MutationResult result = kAll[static_cast<size_t>(mutation)];
  active_mutation = mutation;
  const double start_s = thread_cpu_s();
  while (!result.found && result.scenarios < options.most) {
    result.seed = options.first_seed + result.scenarios++;
    Scenario scenario = generate(result.seed, true);
    scenario.most_packets = kMostWithFault;
    try {
      const Outcome outcome = run_scenario(scenario, nullptr);
      result.found = outcome.violation.has_value();
      if (result.found) result.violation = outcome.violation->name;
    } catch (const std::exception& error) {  // a table refused an entry
      result.found = true;
      result.violation = error.what();
    }
  }
  result.cpu_s = thread_cpu_s() - start_s;
  active_mutation = Mutation::none;
  return result;
}

}  // namespace

std::vector<MutationResult> check_mutations(const MutationOptions& options,
                                            const std::function<void(const MutationResult&)>& progress) {
  std::vector<Mutation> todo;
  for (size_t m = 1; m < static_cast<size_t>(Mutation::count_); ++m) {
    if (options.only.empty() || options.only == kAll[m].name) todo.push_back(static_cast<Mutation>(m));
  }
  std::vector<MutationResult> results(todo.size());
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (size_t i; (i = next++) < todo.size();) {
      results[i] = check(todo[i], options);
      const std::lock_guard lock(mutex);
      progress(results[i]);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace l3dml::sim
