// Who shares a link with a job: another job, a TCP flow. And what becomes of the queue.
#include <algorithm>

#include <fmt/format.h>

#include "tools/sim/modes/meter.h"
#include "tools/sim/modes/modes.h"
#include "tools/sim/modes/tcp_flow.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr int64_t kSettleNs = 2 * base::kSecond;  // after the last one has begun
constexpr double kTcpCeiling = TcpFlow::kPayload / double{TcpFlow::kPayload + TcpFlow::kHeaders + 24};

void add_queue(World& world, const Outcome& outcome, const std::string& beside, Rows* rows) {
  const io::LinkCounters& up = world.network().counters(0, false);
  const io::LinkCounters& down = world.network().counters(0, true);
  const std::map<std::string, std::string> group = {{"beside", beside}};
  rows->push_back({"queue_drops", static_cast<double>(up.queue_drops + down.queue_drops), "1", group});
  rows->push_back(
      {"largest_queue", static_cast<double>(std::max(up.max_queue_bytes, down.max_queue_bytes)), "B", group});
  rows->push_back({"violations", outcome.violation ? 1.0 : 0.0, "1", group, 0.0});
}

// The second begins a second after the first, which has the whole link until then.
Rows two_jobs() {
  Scenario scenario = two_sites(2, 18, 20'000, 0.99, {});
  scenario.jobs[1].start_ns = base::kSecond;
  Meter meter(2);
  World world(scenario, nullptr);
  world.observe(&meter);
  const Outcome outcome = world.run();
  const int64_t from_ns = meter.span_ns(1).first + kSettleNs;
  const int64_t to_ns = std::min(meter.span_ns(0).second, meter.span_ns(1).second);
  std::vector<double> shares;  // of the first job, second by second
  for (int64_t t = from_ns; t + base::kSecond <= to_ns; t += base::kSecond) {
    const double a = meter.rate_bps(0, t, t + base::kSecond), b = meter.rate_bps(1, t, t + base::kSecond);
    shares.push_back(a / (a + b));
  }
  const double a = meter.rate_bps(0, from_ns, to_ns), b = meter.rate_bps(1, from_ns, to_ns);
  Rows rows = {
      {"share_of_first_job", a / (a + b), "1", {{"beside", "job"}}, 0.5, report::spread_of(shares)},
      {"goodput_share", (a + b) / (header_ceiling() * kWanBps), "1", {{"beside", "job"}}},
      {"common_time", static_cast<double>(to_ns - from_ns) / base::kSecond, "s", {{"beside", "job"}}}};
  add_queue(world, outcome, "job", &rows);
  return rows;
}

// A TCP flow from site 0 to site 1, beside the sums that go there.
Rows beside_tcp(bool ecn) {
  Scenario scenario = two_sites(1, 24, 20'000, 0.99, {});
  const uint32_t from = add_host(&scenario, 0), to = add_host(&scenario, 1);
  Meter meter(1);
  World world(scenario, nullptr);
  TcpFlow flow(&world, from, to, ecn);
  meter.attach(&flow);
  world.observe(&meter);
  flow.start_at(base::kSecond);
  const Outcome outcome = world.run();
  const int64_t from_ns = base::kSecond + kSettleNs, to_ns = meter.span_ns(0).second;
  const double job = meter.rate_bps(0, from_ns, to_ns) / (header_ceiling() * kWanBps);
  const double tcp = meter.rate_bps(1, from_ns, to_ns) / (kTcpCeiling * kWanBps);
  const std::string beside = ecn ? "tcp cubic with ecn" : "tcp cubic";
  Rows rows = {
      {"tcp_part_of_fair_share", tcp / 0.5, "1", {{"beside", beside}}, 1.0 / 3},
      {"goodput_share", job, "1", {{"beside", beside}}},
      {"link_share", job + tcp, "1", {{"beside", beside}}},
      {"common_time", static_cast<double>(to_ns - from_ns) / base::kSecond, "s", {{"beside", beside}}},
      {"tcp_lost_packets", static_cast<double>(flow.lost_packets()), "1", {{"beside", beside}}},
      {"tcp_timeouts", static_cast<double>(flow.timeouts()), "1", {{"beside", beside}}}};
  add_queue(world, outcome, beside, &rows);
  return rows;
}

}  // namespace

Rows measure_fairness() {
  Rows rows = two_jobs();
  for (const bool ecn : {true, false}) {
    Rows more = beside_tcp(ecn);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace l3dml::sim
