// What the controller tells of itself and of its devices.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/jobs/program.h"

namespace l3dml::control {
namespace {

uint64_t number_of(const Bytes& bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

std::string prefix_text(const Match& match) {
  const int length =
      match.kind == MatchKind::lpm ? match.prefix_length : static_cast<int>(8 * match.value.size());
  if (match.value.size() == 4)
    return absl::StrCat(text4(static_cast<uint32_t>(number_of(match.value))), "/", length);
  Ipv6 address{};
  std::copy(match.value.begin(), match.value.end(), address.begin());
  return absl::StrCat(text(address), "/", length);
}

}  // namespace

std::vector<SiteRecord> Controller::sites() const {
  const std::lock_guard lock(mutex_);
  std::vector<SiteRecord> present;
  for (const SiteRecord& site : sites_)
    if (!site.removed) present.push_back(site);
  return present;
}

std::vector<HostRecord> Controller::hosts() const {
  const std::lock_guard lock(mutex_);
  std::vector<HostRecord> present;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].removed) continue;
    present.push_back(hosts_[i]);
    present.back().port = topology_.hosts()[i].port;
  }
  return present;
}

std::vector<LinkRecord> Controller::links() const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkRecord> present;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].removed) continue;
    present.push_back(links_[i]);
    const Link& now = topology_.links()[i];
    present.back().port_a = now.port_a;
    present.back().port_b = now.port_b;
    present.back().rate_bps = now.rate_bps;
    present.back().delay_s = now.delay_s;
    present.back().loss = now.loss;
  }
  return present;
}

Topology Controller::topology() const {
  const std::lock_guard lock(mutex_);
  return topology_;
}

std::vector<DeviceView> Controller::devices() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceView> views;
  for (size_t site = 0; site < sites_.size(); ++site) {
    if (sites_[site].address.empty() || sites_[site].removed) continue;
    const DeviceResources& r = resources_[site];
    size_t entries = routes_[site].entries.size();
    for (const auto& [name, job] : jobs_)
      if (site < job->parts.size()) entries += job->parts[site].entries.size();
    views.push_back({sites_[site], devices_[site]->target != nullptr && devices_[site]->target->connected(),
                     devices_[site]->problem, r.capability, r.slots.free_count(), entries});
  }
  return views;
}

std::vector<RouteView> Controller::routes(const std::string& only) const {
  const std::lock_guard lock(mutex_);
  std::vector<RouteView> views;
  for (size_t site = 0; site < sites_.size(); ++site) {
    if (sites_[site].removed || (!only.empty() && sites_[site].name != only)) continue;
    const auto next_of = [&](uint32_t port) -> std::string {
      for (const Host& host : topology_.hosts())
        if (host.site == static_cast<SiteId>(site) && host.port == port) return host.name;
      for (const Step& step : topology_.steps(static_cast<SiteId>(site)))
        if (topology_.port_towards(static_cast<SiteId>(site), step.link) == port)
          return sites_[step.site].name;
      return "";
    };
    const auto add = [&](const DeviceEntries& entries) {
      for (const Entry& entry : entries.entries) {
        if (entry.key.table.find("forwarder") == std::string::npos) continue;
        RouteView view{sites_[site].name, prefix_text(entry.key.matches.front()), "", 0};
        for (const auto& [name, value] : entry.data.params)
          if (name == "port") view.port = static_cast<uint32_t>(number_of(value));
        if (!entry.data.params.empty()) view.next = next_of(view.port);
        views.push_back(std::move(view));
      }
    };
    add(routes_[site]);
    for (const auto& [name, job] : jobs_)
      if (site < job->parts.size()) add(job->parts[site]);
  }
  return views;
}

StatisticsView Controller::statistics(const std::string& only) const {
  const std::lock_guard lock(mutex_);
  StatisticsView all;
  for (size_t site = 0; site < sites_.size(); ++site) {
    const auto& device = devices_[site]->target;
    const std::string& name = sites_[site].name;
    if (!device || !device->connected() || (!only.empty() && name != only)) continue;
    const auto packets = [&](const char* counter, uint32_t index) -> uint64_t {
      const auto value = device->read_counter(counter, index);
      return value.ok() ? value->packets : 0;
    };
    for (uint32_t reason = 0; reason < std::size(kDropReasons); ++reason) {
      const uint64_t count = packets("pipe.Ingress.drop_reasons", reason);
      if (count != 0) all.drops.push_back({name, kDropReasons[reason], count});
    }
    if (auto ports = device->ports(); ports.ok())
      for (const target::PortState& port : *ports) {
        StatisticsView::Port view{name, port.name, port.port, port.up, 0, 0, 0, 0};
        const auto statistic = [&](const char* what) -> uint64_t {
          const auto value = device->port_statistic(port.port, what);
          return value.ok() ? *value : 0;
        };
        view.received_packets = statistic("$FramesReceivedOK");
        view.received_bytes = statistic("$OctetsReceived");
        view.sent_packets = statistic("$FramesTransmittedOK");
        view.sent_bytes = statistic("$OctetsTransmittedTotal");
        all.ports.push_back(std::move(view));
      }
    for (const auto& [job_name, job] : jobs_)
      for (const StatisticsView::Segment& segment :
           job->live() ? segments_of(*job, static_cast<SiteId>(site)) : job->last_segments)
        if (segment.site == name) all.segments.push_back(segment);
  }
  return all;
}

std::vector<StatisticsView::Segment> Controller::segments_of(const Job& job, SiteId site) const {
  std::vector<StatisticsView::Segment> segments;
  const auto& device = devices_[site]->target;
  bool answers = device && device->connected();  // one that does not is asked once
  const auto add = [&](const StripePlan& stripe, const std::string& peer, uint16_t neighbor) {
    const auto packets = [&](const char* counter) -> uint64_t {
      if (!answers) return 0;
      const auto value = device->read_counter(counter, neighbor);
      answers = value.ok();
      return value.ok() ? value->packets : 0;
    };
    segments.push_back({job.record.specification.name, sites_[site].name, peer, stripe.job,
                        packets("pipe.Ingress.segment_receiver.missing"),
                        packets("pipe.Egress.segment_sender.repairs")});
  };
  for (const StripePlan& stripe : job.plan.stripes)
    for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
      const Aggregator& node = stripe.tree.aggregators[a];
      if (node.site != site) continue;
      for (size_t c = 0; c < node.children.size(); ++c) {
        const Child& child = node.children[c];
        add(stripe,
            child.kind == NodeKind::worker ? topology_.hosts()[child.index].name
                                           : sites_[stripe.tree.aggregators[child.index].site].name,
            stripe.aggregators[a].neighbors[c]);
      }
      if (node.parent >= 0)
        add(stripe, sites_[stripe.tree.aggregators[node.parent].site].name,
            stripe.aggregators[a].parent_neighbor);
    }
  return segments;
}

std::vector<Controller::Watched> Controller::watched() const {
  const std::lock_guard lock(mutex_);
  std::vector<Watched> all;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const auto site = static_cast<SiteId>(i);
    if (!devices_[i]->target || !devices_[i]->target->connected()) continue;
    Watched watched{sites_[i].name, devices_[i]->target, {}, {}};
    for (const Host& host : topology_.hosts())
      if (host.site == site && host.present) watched.ports.push_back({host.port, host.name, host.rate_bps});
    for (const Step& step : topology_.steps(site)) {
      const Link& link = topology_.links()[step.link];
      if (link.up)
        watched.ports.push_back({topology_.port_towards(site, step.link), link.name, link.rate_bps});
    }
    for (const auto& [name, job] : jobs_) {
      if (!job->live()) continue;
      for (const StripePlan& stripe : job->plan.stripes)
        for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
          const Aggregator& node = stripe.tree.aggregators[a];
          if (node.site != site) continue;
          Watched::Aggregator out{name, stripe.job, stripe.aggregators[a].slot_base, stripe.ring, {}};
          for (size_t c = 0; c < node.children.size(); ++c)
            out.children.push_back({stripe.aggregators[a].neighbors[c],
                                    node.children[c].kind == NodeKind::worker
                                        ? topology_.hosts()[node.children[c].index].name
                                        : sites_[stripe.tree.aggregators[node.children[c].index].site].name});
          watched.aggregators.push_back(std::move(out));
        }
    }
    all.push_back(std::move(watched));
  }
  return all;
}

std::vector<Controller::MemberFigures> Controller::member_figures() const {
  const std::lock_guard lock(mutex_);
  std::vector<MemberFigures> all;
  for (const auto& [name, job] : jobs_)
    for (uint32_t rank = 0; job->live() && rank < job->attendants.size(); ++rank)
      if (const Job::Attendant& member = job->attendants[rank]; member.attendance != 0)
        all.push_back(
            {name, job->record.specification.hosts[rank], rank, member.round_trip_s, member.result_s});
  return all;
}

std::vector<EventRecord> Controller::events(uint64_t after) const {
  const std::lock_guard lock(mutex_);
  std::vector<EventRecord> newer;
  for (const EventRecord& e : events_)
    if (e.number > after) newer.push_back(e);
  return newer;
}

}  // namespace l3dml::control
