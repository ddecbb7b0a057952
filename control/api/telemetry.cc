#include "control/api/telemetry.h"

#include <algorithm>

namespace l3dml::control {
namespace {

constexpr double kCellBytes = 80;        // of the traffic manager
constexpr uint32_t kSampledSlots = 256;  // of a ring: enough to tell how many wait
constexpr uint32_t kDoneBit = 31;

// How many more `newer` has counted; nothing after a restart.
double grown(uint64_t older, uint64_t newer) {
  return newer >= older ? static_cast<double>(newer - older) : 0;
}

}  // namespace

void Telemetry::sample(int64_t now_ns) {
  const double interval_s = last_ns_ < 0 ? 0 : static_cast<double>(now_ns - last_ns_) / 1e9;
  last_ns_ = now_ns;
  TelemetryView view;
  view.interval_s = interval_s;
  for (const Controller::Watched& watched : controller_.watched()) {
    read_ports(watched, interval_s, &view);
    for (const auto& node : watched.aggregators) read_aggregator(watched, node, interval_s, &view);
  }
  for (const Controller::MemberFigures& member : controller_.member_figures())
    view.members.push_back({member.job, member.host, member.rank, member.round_trip_s, member.result_s});
  const std::lock_guard lock(mutex_);
  now_ = std::move(view);
}

void Telemetry::read_ports(const Controller::Watched& watched, double interval_s, TelemetryView* out) {
  for (const auto& port : watched.ports) {
    const auto row = watched.target->read("$PORT_STAT", target::Key{}.exact("$DEV_PORT", port.port));
    if (!row.ok()) continue;
    const auto queue =
        watched.target->read("tf1.tm.counter.eg_port", target::Key{}.exact("dev_port", port.port));
    const auto of = [](const auto& from, const char* name) { return from->action.get(name).number(); };
    PortCount count{of(row, "$OctetsTransmittedTotal"), of(row, "$OctetsReceived"),
                    queue.ok() ? of(queue, "drop_count_packets") : 0};
    TelemetryView::Link link;
    link.site = watched.site;
    link.name = port.name;
    link.port = port.port;
    if (queue.ok()) {
      link.queue_bytes = kCellBytes * static_cast<double>(of(queue, "usage_cells"));
      link.queue_most_bytes = kCellBytes * static_cast<double>(of(queue, "watermark_cells"));
    }
    const auto [before, is_new] = ports_.try_emplace({watched.site, port.port}, count);
    if (!is_new && interval_s > 0) {
      link.sent_bps = 8 * grown(before->second.sent, count.sent) / interval_s;
      link.received_bps = 8 * grown(before->second.received, count.received) / interval_s;
      link.drops_per_s = grown(before->second.drops, count.drops) / interval_s;
      if (port.rate_bps > 0) link.utilisation = link.sent_bps / port.rate_bps;
      before->second = count;
    }
    out->links.push_back(std::move(link));
  }
}

void Telemetry::read_aggregator(const Controller::Watched& watched,
                                const Controller::Watched::Aggregator& node, double interval_s,
                                TelemetryView* out) {
  target::SwitchTarget& device = *watched.target;
  const size_t first = out->segments.size();
  double rate = 0;
  std::vector<uint32_t> ahead;  // packets of each child, at one instant (nearly)
  for (const auto& child : node.children) {
    const auto cells = device.read_registers("pipe.Ingress.segment_receiver.expected", child.neighbor, 1);
    const auto missing = device.read_counter("pipe.Ingress.segment_receiver.missing", child.neighbor);
    if (!cells.ok() || !missing.ok() || cells->empty()) return out->segments.resize(first);
    SegmentCount count{0, missing->packets, 0};
    for (const target::Cell& pipe : cells->front()) count.expected += static_cast<uint32_t>(pipe.first);
    const SegmentKey key{node.job, node.stripe, watched.site, child.name};
    const auto [before, is_new] = segments_.try_emplace(key, count);
    TelemetryView::Segment segment{node.job, watched.site, child.name, node.stripe, 0, 0, 0};
    if (!is_new && interval_s > 0) {
      const uint32_t packets = count.expected - before->second.expected;
      const bool began_anew = packets > UINT32_MAX / 2;  // another epoch
      const double sent = began_anew ? count.expected : packets;
      segment.packets_per_s = sent / interval_s;
      segment.loss = sent > 0 ? std::min(1.0, grown(before->second.missing, count.missing) / sent) : 0;
      before->second = count;
    }
    rate = std::max(rate, segment.packets_per_s);
    ahead.push_back(count.expected);
    out->segments.push_back(std::move(segment));
  }
  const uint32_t furthest = ahead.empty() ? 0 : *std::max_element(ahead.begin(), ahead.end());
  for (size_t c = 0; c < ahead.size() && rate > 0; ++c)
    out->segments[first + c].skew_s = (furthest - ahead[c]) / rate;
  const uint32_t looked = std::min(node.ring, kSampledSlots);
  const auto bitmaps = device.read_registers("pipe.Ingress.slot_state.bitmap", node.slot_base, looked);
  if (!bitmaps.ok() || looked == 0) return;
  double waiting = 0;
  for (const auto& pipes : *bitmaps)
    for (const target::Cell& cell : pipes)
      waiting += cell.first != 0 && (cell.first >> kDoneBit & 1) == 0 ? 1 : 0;
  waiting *= static_cast<double>(node.ring) / looked;
  out->aggregators.push_back({node.job, watched.site, node.stripe, waiting, rate > 0 ? waiting / rate : 0});
}

TelemetryView Telemetry::now(const std::string& site) const {
  const std::lock_guard lock(mutex_);
  if (site.empty()) return now_;
  TelemetryView view = now_;
  const auto elsewhere = [&](const auto& figure) { return figure.site != site; };
  std::erase_if(view.links, elsewhere);
  std::erase_if(view.segments, elsewhere);
  std::erase_if(view.aggregators, elsewhere);
  return view;
}

}  // namespace l3dml::control
