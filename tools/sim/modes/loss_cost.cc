// What a lost packet costs its chunk: the time from the first UP to the result, less what it takes without
// loss. Packets with lanes are lost on the WAN; a number of which one packet was lost is of first order, one
// whose repair was lost as well is of second.
#include <algorithm>
#include <map>

#include "dataplane/wire/address.h"
#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/random.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr double kLoss = 0.002;
constexpr double kRepairLoss =
    0.2;  // of what follows the first loss of a number, so that there is a second order

class LossWatch final : public Observer {
 public:
  explicit LossWatch(uint64_t seed) : random_(seed) {}

  void sent(uint32_t, uint32_t, const wire::L3dmlHeader& header, int64_t now_ns) override {
    Life& life = lives_[header.number.load()];
    if (life.sent_ns == 0) life.sent_ns = now_ns;
  }
  void held(uint32_t, uint32_t, uint32_t number, int64_t now_ns) override {
    Life& life = lives_[number];
    life.held_ns = std::max(life.held_ns, now_ns);
  }
  bool loses(const Frame& frame, bool at_host) override {
    const wire::L3dmlHeader& h = frame.head->l3dml;
    // Between the switches only: sent by an aggregator, and no host receives it.
    const bool from_switch = frame.head->ipv6.src_addr[8] == static_cast<uint8_t>(wire::Function::aggregate);
    if (at_host || !from_switch || (h.type() != wire::Type::up && h.type() != wire::Type::down)) return false;
    unsigned& lost = lives_[h.number.load()].lost;
    if (!random_.chance(lost == 1 ? kRepairLoss : kLoss)) return false;
    ++lost;
    return true;
  }
  // Costs in seconds of numbers of which `lost` packets were lost (2: two or more), ascending.
  std::vector<double> costs(unsigned lost) const {
    int64_t base_ns = base::kNever;
    for (const auto& [number, life] : lives_) {
      if (life.held_ns && life.lost == 0) base_ns = std::min(base_ns, life.held_ns - life.sent_ns);
    }
    std::vector<double> result;
    for (const auto& [number, life] : lives_) {
      if (life.held_ns && std::min(life.lost, 2u) == lost)
        result.push_back(static_cast<double>(life.held_ns - life.sent_ns - base_ns) / base::kSecond);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  struct Life {
    int64_t sent_ns = 0, held_ns = 0;
    unsigned lost = 0;
  };
  Random random_;
  std::map<uint32_t, Life> lives_;
};

double quantile(const std::vector<double>& values, double q) {
  return values.empty() ? 0
                        : values[std::min(values.size() - 1,
                                          static_cast<size_t>(q * static_cast<double>(values.size())))];
}

}  // namespace

Rows measure_loss_cost() {
  Scenario scenario = two_sites(1, 3, 30'000, 0.9, {});
  LossWatch watch(7);
  World world(scenario, nullptr);
  world.observe(&watch);
  const Outcome outcome = world.run();
  Rows rows;
  constexpr double kSegmentRtt = 2.0 * kWanDelayNs / base::kSecond;
  for (unsigned lost : {1u, 2u}) {
    const std::vector<double> costs = watch.costs(lost);
    const std::string order = lost == 1 ? "first" : "second";
    rows.push_back({"lost_packets", static_cast<double>(costs.size()), "1", {{"order", order}}});
    for (const auto& [name, q] :
         {std::pair{"p50", 0.5}, std::pair{"p95", 0.95}, std::pair{"p99", 0.99}, std::pair{"max", 1.0}}) {
      report::Row row{std::string("loss_cost_") + name, quantile(costs, q), "s", {{"order", order}}};
      if (lost == 1) row.target = kSegmentRtt + 0.002;
      rows.push_back(row);
    }
  }
  if (outcome.violation) rows.push_back({"violation", outcome.violation->name, "1"});
  return rows;
}

}  // namespace l3dml::sim
