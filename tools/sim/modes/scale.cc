// A thousand workers on a hundred switches in three levels: root, nine, ninety.
#include "tools/sim/batch.h"
#include "tools/sim/modes/modes.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr uint32_t kMiddle = 9, kLeaves = 90, kMembers = 1000, kChunks = 1200;

Scenario three_levels() {
  Scenario s;
  s.seed = 1;
  s.devices = 1 + kMiddle + kLeaves;
  s.control_min_ns = s.control_max_ns = base::kMillisecond;
  JobSpec job;
  job.window = 64;
  job.ring = 128;
  job.seq_ring = 256;
  Tree tree;
  for (uint32_t d = 0; d < s.devices; ++d) {
    TreeAggregator aggregator;
    aggregator.device = d;
    if (d > 0) {
      const uint32_t parent = d <= kMiddle ? 0 : 1 + (d - 1 - kMiddle) % kMiddle;
      aggregator.parent = static_cast<int>(parent);
      aggregator.child = static_cast<uint8_t>(tree.aggregators[parent].children.size());
      tree.aggregators[parent].children.push_back({false, d});
      LinkSpec link{false, parent, d, {}};
      link.parameters.delay_ns = 5 * base::kMillisecond;
      link.parameters.loss = io::LossModel::bernoulli(0.001);
      s.links.push_back(link);
    }
    tree.aggregators.push_back(aggregator);
  }
  for (uint32_t m = 0; m < kMembers; ++m) {
    const uint32_t device = 1 + kMiddle + m % kLeaves;
    s.hosts.push_back(device);
    LinkSpec link{true, device, m, {}};
    link.parameters.delay_ns = 20 * base::kMicrosecond;
    s.links.push_back(link);
    job.members.push_back({m, 0, 2});
    std::vector<TreeChild>& children = tree.aggregators[device].children;
    tree.places.push_back({device, static_cast<uint8_t>(children.size())});
    children.push_back({true, m});
  }
  job.fixed_tree = tree;
  CollectiveSpec collective;
  collective.type = kernels::ElementType::kInt32;
  collective.count = size_t{kChunks} * job.lanes;
  job.collectives.assign(2, collective);
  s.jobs.push_back(job);
  return s;
}

}  // namespace

Rows measure_scale() {
  const double start_s = thread_cpu_s();
  World world(three_levels(), nullptr);
  const Outcome outcome = world.run();
  const double cpu_s = thread_cpu_s() - start_s;
  return {{"workers", double{kMembers}, "1"},
          {"switches", double{1 + kMiddle + kLeaves}, "1"},
          {"collectives_finished", static_cast<double>(outcome.collectives), "1", {}, 2.0 * kMembers},
          {"violations", outcome.violation ? 1.0 : 0.0, "1", {}, 0.0},
          {"packet_events", static_cast<double>(outcome.packets), "1"},
          {"cpu_time", cpu_s, "s"},
          {"packet_events_per_second", static_cast<double>(outcome.packets) / cpu_s, "1/s", {}, 500000.0}};
}

absl::StatusOr<Rows> measure(const std::string& what) {
  struct Mode {
    const char* name;
    Rows (*run)();
  };
  static constexpr Mode kModes[] = {{"goodput", measure_goodput},
                                    {"loss_cost", measure_loss_cost},
                                    {"fairness", measure_fairness},
                                    {"scale", measure_scale}};
  Rows rows;
  bool known = what == "all";
  for (const Mode& mode : kModes) {
    if (what != "all" && what != mode.name) continue;
    known = true;
    for (report::Row& row : mode.run()) {
      row.group["mode"] = mode.name;
      rows.push_back(std::move(row));
    }
  }
  if (!known)
    return absl::InvalidArgumentError("unknown mode " + what +
                                      "; use all, goodput, loss_cost, fairness or scale");
  return rows;
}

}  // namespace l3dml::sim
