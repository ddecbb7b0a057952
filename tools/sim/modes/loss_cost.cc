// What a lost packet costs its chunk: the time from the moment when all workers have sent it to the moment
// when all hold the result, less what the chunks took that were sent right before and after it and lost
// nothing. Packets with lanes are lost between the switches. First order: one packet of the chunk was lost,
// and it was not a repair; second order: a packet and its repair. The first sending of the last worker
// counts, not of the first: that one worker runs ahead of another is no loss.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dataplane/wire/address.h"
#include "tools/report/report.h"
#include "tools/report/svg.h"
#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/random.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr double kLoss = 0.002;
constexpr double kRepairLoss = 0.2;  // so that there are enough of the second order
constexpr double kQuantiles[] = {0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};

class LossWatch final : public Observer {
 public:
  explicit LossWatch(uint64_t seed) : random_(seed) {}

  void sent(uint32_t, uint32_t, const wire::L3dmlHeader& header, int64_t now_ns) override {
    if (!(header.flags & wire::kFlagRetx)) lives_[header.number.load()].sent_ns = now_ns;
  }
  void held(uint32_t, uint32_t, uint32_t number, int64_t now_ns) override { lives_[number].held_ns = now_ns; }
  bool loses(const Frame& frame, bool at_host) override {
    const wire::L3dmlHeader& h = frame.head->l3dml;
    // Between the switches only: sent by an aggregator, and no host receives it.
    const bool from_switch = frame.head->ipv6.src_addr[8] == static_cast<uint8_t>(wire::Function::aggregate);
    if (at_host || !from_switch || (h.type() != wire::Type::up && h.type() != wire::Type::down)) return false;
    Life& life = lives_[h.number.load()];
    unsigned& came = life.came[h.type() == wire::Type::down];
    const bool repair = came++ > 0;
    if (!random_.chance(repair ? kRepairLoss : kLoss)) return false;
    ++(repair ? life.repairs_lost : life.lost);
    return true;
  }
  enum class Order { none, first, second };
  // In seconds, ascending.
  std::vector<double> costs(Order order) const {
    std::vector<double> result;
    const std::vector<const Life*> usual = sent_in_order(Order::none);
    for (const Life* life : sent_in_order(order))
      result.push_back(static_cast<double>(life->time_ns() - usual_ns(usual, life->sent_ns)) / base::kSecond);
    std::sort(result.begin(), result.end());
    return result;
  }
  double usual_time() const {  // median of those that lost nothing
    std::vector<double> times;
    for (const Life* life : sent_in_order(Order::none))
      times.push_back(static_cast<double>(life->time_ns()) / base::kSecond);
    return report::median(times);
  }

 private:
  struct Life {
    int64_t sent_ns = 0, held_ns = 0;
    unsigned came[2] = {0, 0};  // to the other switch: up, down
    unsigned lost = 0, repairs_lost = 0;
    int64_t time_ns() const { return held_ns - sent_ns; }
    int order() const {  // -1: neither, such as two of first order
      if (lost + repairs_lost == 0) return static_cast<int>(Order::none);
      if (lost == 1 && repairs_lost == 0) return static_cast<int>(Order::first);
      return lost == 1 && repairs_lost == 1 ? static_cast<int>(Order::second) : -1;
    }
  };
  std::vector<const Life*> sent_in_order(Order order) const {
    std::vector<const Life*> result;
    for (const auto& [number, life] : lives_) {
      if (life.held_ns && life.order() == static_cast<int>(order)) result.push_back(&life);
    }
    std::sort(result.begin(), result.end(),
              [](const Life* a, const Life* b) { return a->sent_ns < b->sent_ns; });
    return result;
  }
  // Median of the five that were sent next to this time.
  static int64_t usual_ns(const std::vector<const Life*>& usual, int64_t sent_ns) {
    const auto at = std::lower_bound(usual.begin(), usual.end(), sent_ns,
                                     [](const Life* life, int64_t wanted) { return life->sent_ns < wanted; });
    const auto first = std::clamp<std::ptrdiff_t>(at - usual.begin() - 2, 0, std::ssize(usual) - 5);
    int64_t times[5];
    for (size_t i = 0; i < 5; ++i) times[i] = usual[static_cast<size_t>(first) + i]->time_ns();
    std::nth_element(times, times + 2, times + 5);
    return times[2];
  }
  Random random_;
  std::map<uint32_t, Life> lives_;
};

double quantile(const std::vector<double>& values, double q) {
  return values.empty() ? 0 : values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

Rows measure_loss_cost() {
  World world(two_sites(1, 9, 20'000, 0.9, {}), nullptr);
  LossWatch watch(7);
  world.observe(&watch);
  const Outcome outcome = world.run();
  Rows rows;
  constexpr double kSegmentRtt = 2.0 * kWanDelayNs / base::kSecond;
  for (const auto& [order, name] : {std::pair{LossWatch::Order::none, "none"},
                                    {LossWatch::Order::first, "first"},
                                    {LossWatch::Order::second, "second"}}) {
    const std::vector<double> costs = watch.costs(order);
    rows.push_back({"chunks", static_cast<double>(costs.size()), "1", {{"order", name}}});
    for (const double q : kQuantiles) {
      report::Row row{
          "loss_cost", quantile(costs, q), "s", {{"order", name}, {"quantile", fmt::format("{}", q)}}};
      if (order == LossWatch::Order::first) row.target = kSegmentRtt + 0.002;
      rows.push_back(row);
    }
  }
  rows.push_back({"result_time_without_loss", watch.usual_time(), "s"});
  rows.push_back({"violations", outcome.violation ? 1.0 : 0.0, "1", {}, 0.0});
  return rows;
}

std::string loss_cost_chart(const Rows& rows) {
  std::vector<report::Curve> curves;
  for (const char* order : {"none", "first", "second"}) {
    report::Curve curve{order == std::string("none") ? "nothing lost" : std::string(order) + " order", {}};
    for (const report::Row& row : rows) {
      if (row.name != "loss_cost" || row.group.at("order") != order) continue;
      curve.points.emplace_back(1e3 * std::get<double>(row.value), 100 * std::stod(row.group.at("quantile")));
    }
    if (!curve.points.empty()) curves.push_back(curve);
  }
  if (curves.empty()) return "";
  return report::svg_chart({"What a lost packet costs its chunk, segment round trip 50 ms",
                            "ms more than the median without loss", "% of chunks", 0, 0, 0, 100},
                           curves);
}

}  // namespace l3dml::sim
