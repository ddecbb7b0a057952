#include "tools/gen/figures.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace l3dml::gen {
namespace {

constexpr double kWireBytes = 24;  // preamble 8, check sequence 4, gap 12
constexpr std::pair<const char*, double> kPercentiles[] = {{"latency_p50", 50},
                                                           {"latency_p90", 90},
                                                           {"latency_p99", 99},
                                                           {"latency_p999", 99.9},
                                                           {"latency_max", 100}};

void add(report::Report* report, const char* name, double value, const char* unit, const Group& group) {
  report->add({name, value, unit, group});
}

void add_latency(const Histogram& latency, const Group& group, report::Report* report) {
  if (latency.count() == 0) return;
  for (const auto& [name, percent] : kPercentiles)
    add(report, name, static_cast<double>(latency.percentile(percent)) * 1e-9, "s", group);
}

void add_strays(const Strays& s, const Group& group, report::Report* report) {
  const std::pair<const char*, uint64_t> counts[] = {{"foreign_packets", s.foreign},
                                                     {"unwanted_packets", s.unwanted},
                                                     {"nacks", s.nacks},
                                                     {"syncs", s.syncs},
                                                     {"duplicates", s.duplicates},
                                                     {"late_results", s.late}};
  for (const auto& [name, count] : counts) add(report, name, static_cast<double>(count), "1", group);
}

std::string rate_text(double frames_per_s, double frame_bytes) {
  return absl::StrFormat("%.4g Mpps, %.4g Gbit/s on the wire", frames_per_s * 1e-6,
                         wire_bps(frames_per_s, frame_bytes) * 1e-9);
}

std::string latency_text(const Histogram& h) {
  if (h.count() == 0) return "no latency";
  std::string text = "latency us:";
  for (const auto& [name, percent] : kPercentiles)
    absl::StrAppendFormat(&text, " %s %.1f", name + 8, static_cast<double>(h.percentile(percent)) * 1e-3);
  return text;
}

std::string strays_text(const Strays& s) {
  return absl::StrCat("came besides: ", s.foreign, " foreign, ", s.unwanted, " unwanted, ", s.nacks,
                      " NACK, ", s.syncs, " SYNC, ", s.duplicates, " duplicate, ", s.late, " late\n");
}

// Where a percentile lies on the axis: 0, 1 (90), 2 (99), 3 (99.9), ...
double nines(double percent) { return percent >= 100 ? 6 : std::min(6.0, -std::log10(1 - percent / 100)); }

}  // namespace

double wire_bps(double frames_per_s, double frame_bytes) {
  return frames_per_s * 8 * (std::max(frame_bytes, 60.0) + kWireBytes);
}

void add_trial(const TrialResult& r, double frame_bytes, const Group& group, report::Report* report) {
  add(report, "offered", r.offered_per_s, "packet/s", group);
  add(report, "sent_rate", r.sent_per_s, "packet/s", group);
  add(report, "sent_bits", wire_bps(r.sent_per_s, frame_bytes), "bit/s", group);
  add(report, "sent", static_cast<double>(r.sent), "packet", group);
  add(report, "received", static_cast<double>(r.received), "packet", group);
  add(report, "lost", static_cast<double>(r.lost), "packet", group);
  add(report, "loss", r.loss(), "1", group);
  add(report, "wrong", static_cast<double>(r.wrong), "packet", group);
  add(report, "bad_sent", static_cast<double>(r.bad_sent), "packet", group);
  add(report, "port_drops", static_cast<double>(r.port_drops), "packet", group);
  add(report, "send_lateness", static_cast<double>(r.late_ns) * 1e-9, "s", group);
  add_latency(r.latency, group, report);
  add_strays(r.strays, group, report);
}

void add_search(const SearchResult& r, double frame_bytes, const Group& group, report::Report* report) {
  add(report, "throughput", r.throughput_per_s, "packet/s", group);
  add(report, "throughput_bits", wire_bps(r.throughput_per_s, frame_bytes), "bit/s", group);
  report->add({"generator_limited", r.generator_limited ? "yes" : "no", "", group});
  for (const SearchStep& step : r.steps) {
    Group of = group;
    of["rate"] = absl::StrFormat("%.0f", step.rate);
    add(report, "loss", step.result.loss(), "1", of);
    add(report, "sent_rate", step.result.sent_per_s, "packet/s", of);
    add(report, "wrong", static_cast<double>(step.result.wrong), "packet", of);
  }
  if (r.best) add_latency(r.best->latency, group, report);
}

void add_windowed(const WindowedResult& r, double frame_bytes, const Group& group, report::Report* report) {
  add(report, "chunk_rate", r.chunks_per_s(), "packet/s", group);
  add(report, "chunk_bits", wire_bps(r.chunks_per_s(), frame_bytes), "bit/s", group);
  add(report, "collectives", static_cast<double>(r.collectives), "1", group);
  add(report, "wrong", static_cast<double>(r.wrong), "1", group);
  add(report, "retransmitted", static_cast<double>(r.stats.retransmitted), "packet", group);
  add(report, "probes_sent", static_cast<double>(r.stats.probes_sent), "packet", group);
  add(report, "bad_sent", static_cast<double>(r.bad_sent), "packet", group);
  add_latency(r.round_trip, group, report);
  add_strays(r.strays, group, report);
}

void add_replay(const ReplayResult& r, report::Report* report) {
  add(report, "sent", static_cast<double>(r.sent), "packet", {});
  add(report, "sent_bytes", static_cast<double>(r.sent_bytes), "B", {});
  add(report, "received", static_cast<double>(r.received), "packet", {});
  add(report, "received_bytes", static_cast<double>(r.received_bytes), "B", {});
  add(report, "too_long", static_cast<double>(r.too_long), "packet", {});
  add(report, "no_buffer", static_cast<double>(r.no_buffer), "packet", {});
  add(report, "port_drops", static_cast<double>(r.port_drops), "packet", {});
  add(report, "send_lateness", static_cast<double>(r.late_ns) * 1e-9, "s", {});
  add(report, "duration", r.seconds, "s", {});
}

std::string describe(const TrialResult& r, double frame_bytes) {
  std::string text = absl::StrCat("sent      ", rate_text(r.sent_per_s, frame_bytes), ", at most ",
                                  r.late_ns / 1000, " us late\n");
  absl::StrAppendFormat(&text, "results   %d right of %d, %d lost (%.3g %%), %d wrong\n", r.received, r.sent,
                        r.lost, 100 * r.loss(), r.wrong);
  if (r.bad_sent) absl::StrAppend(&text, "flood     ", r.bad_sent, " bad frames\n");
  if (r.port_drops || r.no_buffer)
    absl::StrAppend(&text, "our ports dropped ", r.port_drops, ", had no buffer for ", r.no_buffer, "\n");
  if (!r.first_wrong.empty()) absl::StrAppend(&text, "first wrong: ", r.first_wrong, "\n");
  absl::StrAppend(&text, latency_text(r.latency), "\n", strays_text(r.strays));
  return text;
}

std::string describe(const SearchResult& r, double frame_bytes) {
  std::string text = absl::StrCat("throughput ", rate_text(r.throughput_per_s, frame_bytes), ", ",
                                  r.steps.size(), " trials");
  if (r.generator_limited) absl::StrAppend(&text, "; the generator could not offer more");
  absl::StrAppend(&text, "\n");
  if (r.best) absl::StrAppend(&text, "  ", latency_text(r.best->latency), "\n");
  for (const SearchStep& step : r.steps)
    if (step.result.wrong) {
      absl::StrAppend(&text, "  wrong results: ", step.result.first_wrong, "\n");
      break;
    }
  return text;
}

std::string describe(const WindowedResult& r, double frame_bytes) {
  std::string text = absl::StrCat("chunks    ", rate_text(r.chunks_per_s(), frame_bytes), ", ", r.collectives,
                                  " collectives, ", r.wrong, " wrong\n");
  absl::StrAppend(&text, "repairs   ", r.stats.retransmitted, " UPs again, ", r.stats.probes_sent,
                  " PROBEs, ", r.stats.downs_missing, " results missed\n");
  if (r.bad_sent) absl::StrAppend(&text, "flood     ", r.bad_sent, " bad frames\n");
  if (!r.first_wrong.empty()) absl::StrAppend(&text, "first wrong: ", r.first_wrong, "\n");
  if (r.timed_out) absl::StrAppend(&text, "given up: nothing moved any more\n");
  absl::StrAppend(&text, "round trips of a closed loop, ", latency_text(r.round_trip), "\n",
                  strays_text(r.strays));
  return text;
}

std::string describe(const ReplayResult& r) {
  std::string text = absl::StrFormat("sent %d of %d frames, %d bytes, in %.3f s; received %d, %d bytes\n",
                                     r.sent, r.frames, r.sent_bytes, r.seconds, r.received, r.received_bytes);
  if (r.too_long || r.no_buffer || r.port_drops)
    absl::StrAppend(&text, r.too_long, " too long for a buffer, ", r.no_buffer, " without a buffer, ",
                    r.port_drops, " dropped by our ports\n");
  return text;
}

std::string latency_chart(const std::string& title,
                          const std::vector<std::pair<std::string, const Histogram*>>& of) {
  std::vector<report::PointSeries> series;
  for (const auto& [name, histogram] : of) {
    if (histogram == nullptr || histogram->count() == 0) continue;
    report::PointSeries s{name, {}};
    for (const auto& [percent, value] : histogram->curve())
      s.points.emplace_back(nines(percent), static_cast<double>(value) * 1e-3);
    series.push_back(std::move(s));
  }
  if (series.empty()) return "";
  return report::xy_chart(
      title, "percentile", "us",
      {{0, "0"}, {1, "90"}, {2, "99"}, {3, "99.9"}, {4, "99.99"}, {5, "99.999"}, {6, "max"}}, series);
}

std::string loss_chart(const std::vector<std::pair<std::string, const SearchResult*>>& of) {
  std::vector<report::PointSeries> series;
  double most = 0;
  for (const auto& [name, search] : of) {
    report::PointSeries s{name, {}};
    for (const SearchStep& step : search->steps)
      s.points.emplace_back(step.rate * 1e-6, 100 * step.result.loss());
    std::sort(s.points.begin(), s.points.end());
    if (!s.points.empty()) most = std::max(most, s.points.back().first);
    series.push_back(std::move(s));
  }
  std::vector<std::pair<double, std::string>> ticks;
  for (int i = 0; i <= 4; ++i) ticks.emplace_back(most * i / 4, report::number(most * i / 4));
  return report::xy_chart("Loss over the offered rate", "Mpps", "%", ticks, series);
}

}  // namespace l3dml::gen
