// From what a run left to rows of the report.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/lab/run.h"

namespace l3dml::lab {
namespace {

using nlohmann::json;

double difference(const json& before, const json& after, const char* key) {
  return after.value(key, 0.0) - before.value(key, 0.0);
}

std::vector<double> doubles(const json& worker, const char* key) {
  std::vector<double> values;
  if (worker.is_object() && worker.contains(key) && worker[key].is_array())
    for (const json& v : worker[key])
      if (v.is_number()) values.push_back(v.get<double>());
  return values;
}

const json* link_named(const json& stats, const std::string& name) {
  if (stats.contains("links"))
    for (const json& link : stats["links"])
      if (link.value("name", "") == name) return &link;
  return nullptr;
}

// A step lasts as long as its slowest rank.
std::vector<double> slowest_by_step(const std::vector<json>& workers, const char* key) {
  std::vector<double> most;
  for (const json& worker : workers) {
    const std::vector<double> values = doubles(worker, key);
    if (most.size() < values.size()) most.resize(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) most[i] = std::max(most[i], values[i]);
  }
  return most;
}

// The first steps hold what recurs never: buckets are laid out anew, TCP starts slowly.
std::vector<double> warm(std::vector<double> steps) {
  if (steps.size() > 4) steps.erase(steps.begin(), steps.begin() + 2);
  return steps;
}

void add_median(const char* name, const std::vector<double>& values,
                const std::map<std::string, std::string>& group, report::Report* report) {
  if (values.empty()) return;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  report->add({name, report::median(values), "s", group, {}, {{*least, *most}}});
}

void add_links(const RunFigures& figures, const Scenario& scenario, report::Report* report) {
  double bytes = 0, lost = 0, queue_drops = 0, marked = 0;
  for (const control::Link& link : scenario.topology.links()) {
    const json* before = link_named(figures.before, link.name);
    const json* after = link_named(figures.after, link.name);
    if (!before || !after) continue;
    for (const char* way : {"forward", "backward"}) {
      const json &b = (*before)[way], &a = (*after)[way];
      auto group = figures.group;
      group["link"] = link.name;
      group["direction"] = absl::StrCat(a.value("from", ""), " to ", a.value("to", ""));
      report->add({"link_bytes", difference(b, a, "sent_bytes"), "byte", group});
      report->add({"link_lost_packets",
                   difference(b, a, "lost_packets") + difference(b, a, "corrupted_packets"), "packet",
                   group});
      report->add({"link_queue_drops", difference(b, a, "queue_drops"), "packet", group});
      bytes += difference(b, a, "sent_bytes");
      lost += difference(b, a, "lost_packets") + difference(b, a, "corrupted_packets");
      queue_drops += difference(b, a, "queue_drops");
      marked += difference(b, a, "marked_packets");
    }
  }
  report->add({"wan_bytes", bytes, "byte", figures.group});
  report->add({"lost_packets", lost, "packet", figures.group});
  report->add({"queue_drops", queue_drops, "packet", figures.group});
  report->add({"marked_packets", marked, "packet", figures.group});
}

// Of the whole run, and with l3dml by segment as well: what a switch or a worker sent again towards whom.
// Stripes that share a segment are added up.
void add_repairs(const RunFigures& figures, const Scenario& scenario, report::Report* report) {
  std::map<std::string, double> segments;
  for (const SegmentRepairs& s : figures.repairs)
    segments[absl::StrCat(s.from, " to ", s.to)] += static_cast<double>(s.packets);
  for (size_t rank = 0; rank < figures.workers.size(); ++rank) {
    const json& worker = figures.workers[rank];
    if (!worker.is_object() || !worker.contains("l3dml")) continue;
    segments[absl::StrCat(scenario.topology.hosts()[rank].name, " to its aggregator")] +=
        worker["l3dml"].value("retransmitted", 0.0);
  }
  double total = segments.empty() ? static_cast<double>(figures.tcp_repairs) : 0;
  for (const auto& [segment, packets] : segments) {
    auto group = figures.group;
    group["segment"] = segment;
    report->add({"segment_repairs", packets, "packet", group});
    total += packets;
  }
  report->add({"repaired_packets", total, "packet", figures.group});
}

// Which form the job had: a stripe per root.
void add_form(const RunFigures& figures, report::Report* report) {
  for (const auto& stripe : figures.job.stripes()) {
    auto group = figures.group;
    group["stripe"] = absl::StrCat(stripe.job());
    group["root"] = stripe.aggregators(0).site();
    report->add({"stripe_share", stripe.share(), "", group});
  }
}

}  // namespace

void add_rows(const RunFigures& figures, const Scenario& scenario, report::Report* report) {
  const auto& group = figures.group;
  add_median("step_time", warm(slowest_by_step(figures.workers, "step_times")), group, report);
  const std::vector<double> communication = warm(slowest_by_step(figures.workers, "communication_times"));
  add_median("communication_time", communication, group, report);
  const json first = figures.workers.empty() ? json() : figures.workers.front();
  if (first.is_object()) {
    if (const double bytes = first.value("gradient_bytes", 0.0); bytes > 0 && !communication.empty())
      report->add({"goodput", 8 * bytes / report::median(communication), "bit/s", group});
    for (const char* key : {"accuracy", "loss"})
      if (first.contains(key) && first[key].is_number())
        report->add({key, first[key].get<double>(), "", group});
    if (first.contains("weights_sha256") && first["weights_sha256"].is_string()) {
      const auto hash = first["weights_sha256"].get<std::string>();
      report->add({"weights_sha256", hash, "", group});
      double equal = 1;
      for (const json& worker : figures.workers)
        equal = equal != 0 && worker.is_object() && worker.value("weights_sha256", "") == hash;
      report->add({"ranks_agree", equal, "", group});
    }
  }
  report->add({"workload_time", figures.seconds, "s", group});
  add_links(figures, scenario, report);
  add_repairs(figures, scenario, report);
  add_form(figures, report);
}

RunSeries series_of(const RunFigures& figures) {
  RunSeries series{figures.name,
                   slowest_by_step(figures.workers, "step_times"),
                   slowest_by_step(figures.workers, "communication_times"),
                   {}};
  if (!figures.workers.empty()) series.losses = doubles(figures.workers.front(), "losses");
  return series;
}

}  // namespace l3dml::lab
