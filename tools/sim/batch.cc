#include "tools/sim/batch.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace l3dml::sim {

double thread_cpu_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Outcome run_scenario(const Scenario& scenario, PacketTrace* trace) {
  World world(scenario, trace);
  return world.run();
}

BatchResult run_batch(const BatchOptions& options) {
  BatchResult result;
  std::mutex mutex;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  const auto work = [&] {
    const double start_s = thread_cpu_s();
    for (uint64_t i; !stop && (i = next++) < options.runs;) {
      const uint64_t seed = options.first_seed + i;
      const double before_s = thread_cpu_s();
      const Scenario scenario = generate(seed, options.wide);
      const Outcome outcome = run_scenario(scenario, nullptr);
      const std::lock_guard lock(mutex);
      if (options.verbose) {
        fmt::print("{:.3f} s, {} packets, {:.3f} s of virtual time, {}\n", thread_cpu_s() - before_s,
                   outcome.packets, static_cast<double>(outcome.virtual_ns) * 1e-9, scenario.describe());
      }
      ++result.scenarios;
      result.coverage.add(scenario, outcome);
      result.packets += outcome.packets;
      result.events += outcome.events;
      result.collectives += outcome.collectives;
      result.chunks += outcome.chunks;
      result.repeats += outcome.repeats;
      result.retransmitted += outcome.retransmitted;
      result.epochs += outcome.epochs;
      if (outcome.violation) {
        result.violations.emplace_back(seed, *outcome.violation);
        if (options.on_violation) options.on_violation(seed, *outcome.violation);
        if (!options.keep_going) stop = true;
      }
      if (options.on_progress) options.on_progress(result.scenarios);
    }
    const std::lock_guard lock(mutex);
    result.cpu_s += thread_cpu_s() - start_s;
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::sort(result.violations.begin(), result.violations.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return result;
}

}  // namespace l3dml::sim
