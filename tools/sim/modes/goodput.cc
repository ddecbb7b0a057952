// Goodput of one job over a long fat link, at several losses; two jobs on one.
#include <algorithm>

#include <fmt/format.h>

#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

// Of the slowest member: from the end of its first collective to the end of its last.
double goodput_bps(World& world, uint32_t j) {
  const Job& job = world.job(j);
  const CollectiveSpec& collective = job.spec().collectives[0];
  const double bits =
      static_cast<double>(collective.count) * 32 * static_cast<double>(job.spec().collectives.size() - 1);
  double least = 1e300;
  for (uint32_t m = 0; m < job.member_count(); ++m) {
    const auto& times = job.member(m).times();
    least = std::min(least,
                     bits * base::kSecond / static_cast<double>(times.back().second - times.front().second));
  }
  return least;
}

void refuse(const Outcome& outcome) {
  if (outcome.violation) fmt::print("violation {}: {}\n", outcome.violation->name, outcome.violation->text);
}

}  // namespace

Rows measure_goodput() {
  struct Case {
    const char* loss;
    io::LossModel model;
    double target;
  };
  const Case cases[] = {{"0", {}, 0.97},
                        {"0.1 %", io::LossModel::bernoulli(0.001), 0.97},
                        {"1 %", io::LossModel::bernoulli(0.01), 0.95},
                        {"5 %", io::LossModel::bernoulli(0.05), 0.75},
                        {"1 % in bursts of 8", io::LossModel::bursts(0.01, 8), 0.90}};
  Rows rows;
  for (const Case& c : cases) {
    World world(two_sites(1, 4, 45'000, 0.99, c.model), nullptr);
    const Outcome outcome = world.run();
    refuse(outcome);
    const double share = goodput_bps(world, 0) / (header_ceiling() * kWanBps);
    const io::LinkCounters& up = world.network().counters(0, false);
    const io::LinkCounters& down = world.network().counters(0, true);
    const double chunks = 4.0 * 45'000;
    rows.push_back({"goodput_share", share, "1", {{"loss", c.loss}}, c.target});
    rows.push_back({"goodput", share * header_ceiling() * kWanBps, "bit/s", {{"loss", c.loss}}});
    rows.push_back({"wan_packets_per_chunk",
                    static_cast<double>(up.sent_packets + down.sent_packets) / chunks / 2,
                    "1",
                    {{"loss", c.loss}}});
    rows.push_back({"wan_lost_packets",
                    static_cast<double>(up.lost_packets + down.lost_packets),
                    "1",
                    {{"loss", c.loss}}});
    rows.push_back({"largest_queue",
                    static_cast<double>(std::max(up.max_queue_bytes, down.max_queue_bytes)),
                    "B",
                    {{"loss", c.loss}}});
  }
  return rows;
}

Rows measure_fairness() {
  World world(two_sites(2, 6, 22'000, 0.99, {}), nullptr);
  refuse(world.run());
  const double first = goodput_bps(world, 0), second = goodput_bps(world, 1);
  const io::LinkCounters& up = world.network().counters(0, false);
  const io::LinkCounters& down = world.network().counters(0, true);
  const double share = first / (first + second);
  return {{"share_of_first_job", share, "1", {}, 0.5},
          {"goodput_share", (first + second) / (header_ceiling() * kWanBps), "1", {{"jobs", "2"}}},
          {"queue_drops", static_cast<double>(up.queue_drops + down.queue_drops), "1", {{"jobs", "2"}}, 0.0},
          {"largest_queue",
           static_cast<double>(std::max(up.max_queue_bytes, down.max_queue_bytes)),
           "B",
           {{"jobs", "2"}}}};
}

}  // namespace l3dml::sim
