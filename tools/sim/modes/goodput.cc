// Goodput of one job over a long fat link, at several losses, as share of what headers leave of the link.
#include <algorithm>

#include "tools/report/report.h"
#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr uint32_t kCollectives = 13, kChunks = 20'000;  // the first one fills the pipe and is not counted
constexpr uint64_t kSeeds = 3;
constexpr double kHeadroom = 0.99;

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
    std::vector<double> shares, packets, lost, queues;
    double violations = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      // The ceiling as the controller reckons it: what repairs will take of the link is left for them.
      Scenario scenario = two_sites(1, kCollectives, kChunks, kHeadroom * (1 - c.model.mean()), c.model);
      scenario.seed = seed;
      World world(scenario, nullptr);
      violations += world.run().violation.has_value();
      const io::LinkCounters& up = world.network().counters(0, false);
      const io::LinkCounters& down = world.network().counters(0, true);
      shares.push_back(goodput_bps(world, 0) / (header_ceiling() * kWanBps));
      packets.push_back(static_cast<double>(up.sent_packets + down.sent_packets) /
                        (2.0 * kCollectives * kChunks));
      lost.push_back(static_cast<double>(up.lost_packets + down.lost_packets));
      queues.push_back(static_cast<double>(std::max(up.max_queue_bytes, down.max_queue_bytes)));
    }
    const std::map<std::string, std::string> group = {{"loss", c.loss}};
    const double share = report::median(shares);
    rows.push_back({"goodput_share", share, "1", group, c.target, report::spread_of(shares)});
    rows.push_back({"goodput", share * header_ceiling() * kWanBps, "bit/s", group});
    rows.push_back(
        {"wan_packets_per_chunk", report::median(packets), "1", group, {}, report::spread_of(packets)});
    rows.push_back({"wan_lost_packets", report::median(lost), "1", group, {}, report::spread_of(lost)});
    rows.push_back({"largest_queue", report::median(queues), "B", group, {}, report::spread_of(queues)});
    rows.push_back({"violations", violations, "1", group, 0.0});
  }
  return rows;
}

}  // namespace l3dml::sim
