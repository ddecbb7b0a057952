#include "control/app/metrics.h"

#include <map>

#include "prometheus/metric_family.h"

namespace l3dml::control {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

class Families {
 public:
  void add(const std::string& name, const std::string& help, MetricType type, const Labels& labels,
           double value) {
    auto [at, is_new] = index_.try_emplace(name, families_.size());
    if (is_new) {
      families_.emplace_back();
      families_.back().name = name;
      families_.back().help = help;
      families_.back().type = type;
    }
    ClientMetric metric;
    for (const auto& [key, text] : labels) metric.label.push_back({key, text});
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families_[at->second].metric.push_back(std::move(metric));
  }
  void gauge(const std::string& name, const std::string& help, const Labels& labels, double value) {
    add("l3dml_" + name, help, MetricType::Gauge, labels, value);
  }
  void counter(const std::string& name, const std::string& help, const Labels& labels, uint64_t value) {
    add("l3dml_" + name + "_total", help, MetricType::Counter, labels, static_cast<double>(value));
  }
  std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  std::map<std::string, size_t> index_;
  std::vector<MetricFamily> families_;
};

}  // namespace

std::vector<MetricFamily> ControllerMetrics::Collect() const {
  Families all;
  for (const DeviceView& d : controller_.devices()) {
    const Labels site{{"site", d.site.name}};
    all.gauge("device_connected", "1 if the switch is reached", site, d.connected ? 1 : 0);
    all.gauge("device_drained", "1 if no job may use the switch", site, d.site.drained ? 1 : 0);
    all.gauge("device_slots", "Slots of a pipe", site, d.capability.slots);
    all.gauge("device_free_slots", "Slots of a pipe that no job holds", site, d.free_slots);
    all.gauge("device_entries", "Table entries the controller keeps there", site,
              static_cast<double>(d.entries));
  }
  for (const LinkRecord& link : controller_.links())
    all.gauge("link_up", "1 if routes may use the link", {{"link", link.name}}, link.down ? 0 : 1);
  std::map<std::string, double> states{{"waiting", 0}, {"running", 0}, {"changing", 0}, {"ended", 0}};
  for (const JobView& job : controller_.jobs()) {
    ++states[job.state];
    if (job.state == "ended") continue;
    const Labels name{{"job", job.name}};
    all.gauge("job_world", "Ranks of the job", name, job.world);
    all.gauge("job_members", "Members that have joined and neither left nor been lost", name, job.joined);
    all.gauge("job_goodput_expected_bps", "32-bit values a worker may expect to have summed", name,
              job.plan.goodput_bps);
    all.counter("job_epoch_changes", "Epoch changes since the controller started", name, job.changes);
    for (const StripePlan& stripe : job.plan.stripes) {
      const Labels labels{{"job", job.name}, {"stripe", std::to_string(stripe.job)}};
      all.gauge("stripe_epoch", "Epoch of the stripe", labels, stripe.epoch);
      all.gauge("stripe_window", "Numbers in flight per worker", labels, stripe.window);
      all.gauge("stripe_rate_bps", "Rate given to each worker", labels, stripe.rate_bps);
      all.gauge("stripe_share", "Share of the job's chunks", labels, stripe.share);
    }
  }
  for (const auto& [state, count] : states) all.gauge("jobs", "Jobs by state", {{"state", state}}, count);
  const StatisticsView statistics = controller_.statistics("");
  for (const auto& s : statistics.segments) {
    const Labels labels{
        {"job", s.job}, {"stripe", std::to_string(s.stripe)}, {"site", s.site}, {"peer", s.peer}};
    all.counter("segment_missing_packets", "Packets from the peer that the switch found missing", labels,
                s.missing_packets);
    all.counter("segment_repaired_packets", "Packets that the switch sent to the peer again", labels,
                s.repaired_packets);
  }
  for (const auto& d : statistics.drops)
    all.counter("dropped_packets", "Packets the switch dropped, by reason",
                {{"site", d.site}, {"reason", d.reason}}, d.packets);
  for (const auto& p : statistics.ports) {
    const Labels labels{{"site", p.site}, {"port", std::to_string(p.port)}, {"name", p.name}};
    all.gauge("port_up", "1 if the port is up", labels, p.up ? 1 : 0);
    all.counter("port_received_packets", "Frames received", labels, p.received_packets);
    all.counter("port_received_bytes", "Bytes received", labels, p.received_bytes);
    all.counter("port_sent_packets", "Frames sent", labels, p.sent_packets);
    all.counter("port_sent_bytes", "Bytes sent", labels, p.sent_bytes);
  }
  const TelemetryView now = telemetry_.now("");
  for (const auto& l : now.links) {
    const Labels labels{{"site", l.site}, {"port", std::to_string(l.port)}, {"name", l.name}};
    all.gauge("port_utilisation", "Share of the rate behind the port that is sent", labels, l.utilisation);
    all.gauge("port_queue_bytes", "Bytes that wait to be sent", labels, l.queue_bytes);
    all.gauge("port_queue_most_bytes", "Most bytes that waited", labels, l.queue_most_bytes);
  }
  for (const auto& s : now.segments) {
    const Labels labels{
        {"job", s.job}, {"stripe", std::to_string(s.stripe)}, {"site", s.site}, {"peer", s.peer}};
    all.gauge("segment_packets_per_second", "Packets from the peer", labels, s.packets_per_s);
    all.gauge("segment_loss", "Share of packets from the peer that were missing", labels, s.loss);
    all.gauge("segment_skew_seconds", "How far the peer is behind the first of its siblings", labels,
              s.skew_s);
  }
  for (const auto& a : now.aggregators) {
    const Labels labels{{"job", a.job}, {"stripe", std::to_string(a.stripe)}, {"site", a.site}};
    all.gauge("aggregator_waiting_slots", "Slots that wait for a child", labels, a.waiting_slots);
    all.gauge("aggregator_dwell_seconds", "How long a slot waits for its last child", labels, a.dwell_s);
  }
  for (const auto& m : now.members) {
    const Labels labels{{"job", m.job}, {"rank", std::to_string(m.rank)}, {"host", m.host}};
    all.gauge("member_round_trip_seconds", "To its aggregator and back", labels, m.round_trip_s);
    all.gauge("member_result_seconds", "From a gradient to its result", labels, m.result_s);
  }
  return all.take();
}

}  // namespace l3dml::control
