#include "control/api/convert.h"

namespace l3dml::control {

grpc::Status to_grpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};  // the same numbers
}

SiteRecord from_proto(const api::Site& site) {
  SiteRecord record;
  record.name = site.name();
  record.address = site.address();
  record.device_id = site.device_id();
  record.router = site.router();
  if (!site.port_speed().empty()) record.speed = site.port_speed();
  if (!site.port_fec().empty()) record.fec = site.port_fec();
  return record;
}

HostRecord from_proto(const api::Host& host) {
  HostRecord record;
  record.name = host.name();
  record.site = host.site();
  record.rate_bps = host.rate_bps();
  record.delay_s = host.delay_s();
  if (host.has_port()) record.port = static_cast<int>(host.port());
  return record;
}

LinkRecord from_proto(const api::Link& link) {
  LinkRecord record;
  record.name = link.name();
  record.a = link.a();
  record.b = link.b();
  record.rate_bps = link.rate_bps();
  record.delay_s = link.delay_s();
  record.loss = link.loss();
  if (link.has_port_a()) record.port_a = static_cast<int>(link.port_a());
  if (link.has_port_b()) record.port_b = static_cast<int>(link.port_b());
  record.down = link.down();
  return record;
}

JobSpecification from_proto(const api::CreateJobRequest& request) {
  JobSpecification s;
  s.name = request.name();
  s.hosts.assign(request.hosts().begin(), request.hosts().end());
  for (const api::Root& root : request.roots()) s.roots.emplace_back(root.site(), root.share());
  s.stripes = request.stripes();
  if (request.lanes() != 0) s.lanes = request.lanes();
  if (request.lease_s() != 0) s.lease_s = request.lease_s();
  if (request.timeout_s() != 0) s.timeout_s = request.timeout_s();
  if (request.mtu() != 0) s.mtu = request.mtu();
  s.on_loss = request.on_loss() == api::CONTINUE ? OnLoss::go_on : OnLoss::end;
  s.inner = !request.only_root_sums();
  return s;
}

JoinCall from_proto(const api::JoinRequest& request) {
  JoinCall call{request.job(), request.token(), request.host()};
  call.instance = request.instance();
  call.group = request.group();
  call.addresses.assign(request.addresses().begin(), request.addresses().end());
  if (request.has_rank()) call.rank = static_cast<int>(request.rank());
  return call;
}

absl::StatusOr<Report> from_proto(const api::MemberMessage& message, uint32_t rank) {
  const uint32_t change = message.change();
  switch (message.what_case()) {
    case api::MemberMessage::kPaused: {
      constexpr uint32_t kMostPositions = 1u << 20;
      const auto& paused = message.paused();
      MemberPaused report{change,
                          rank,
                          static_cast<uint8_t>(paused.epoch()),
                          {},
                          paused.collectives_begun(),
                          paused.collectives_finished(),
                          paused.chunks_begun()};
      if (paused.positions_size() != paused.numbers_size())
        return absl::InvalidArgumentError("a report names as many positions as numbers");
      for (int i = 0; i < paused.positions_size(); ++i) {
        const uint32_t position = paused.positions(i);
        if (position >= kMostPositions)
          return absl::InvalidArgumentError("a report names a position beyond any window");
        if (position >= report.held.size()) report.held.resize(position + 1);
        report.held[position] = paused.numbers(i);
      }
      return report;
    }
    case api::MemberMessage::kFetched: {
      CopiesFetched report{change, rank, {}};
      for (const api::ResultCopy& copy : message.fetched().copies())
        report.copies.push_back({copy.number(), static_cast<uint8_t>(copy.exp()),
                                 static_cast<uint8_t>(copy.next_exp()), static_cast<uint16_t>(copy.weight()),
                                 words_of(copy.lanes())});
      return report;
    }
    case api::MemberMessage::kDelivered:
      return CopiesDelivered{change, rank};
    case api::MemberMessage::kResumed:
      return MemberResumed{change, rank};
    case api::MemberMessage::kDrained:
      return MemberDrained{change, rank};
    default:
      return absl::InvalidArgumentError("not a report of a member");
  }
}

void to_proto(const SiteRecord& record, api::Site* site) {
  site->set_name(record.name);
  site->set_address(record.address);
  site->set_device_id(record.device_id);
  site->set_router(record.router);
  site->set_port_speed(record.speed);
  site->set_port_fec(record.fec);
}

void to_proto(const HostRecord& record, const Topology& topology, api::Host* host) {
  host->set_name(record.name);
  host->set_site(record.site);
  host->set_rate_bps(record.rate_bps);
  host->set_delay_s(record.delay_s);
  if (record.port >= 0) host->set_port(static_cast<uint32_t>(record.port));
  const HostId id = topology.find_host(record.name);
  if (id < 0) return;
  host->set_ipv6(text(topology.address(id)));
  host->set_ipv4(text4(topology.address4(id)));
}

void to_proto(const LinkRecord& record, api::Link* link) {
  link->set_name(record.name);
  link->set_a(record.a);
  link->set_b(record.b);
  link->set_rate_bps(record.rate_bps);
  link->set_delay_s(record.delay_s);
  link->set_loss(record.loss);
  if (record.port_a >= 0) link->set_port_a(static_cast<uint32_t>(record.port_a));
  if (record.port_b >= 0) link->set_port_b(static_cast<uint32_t>(record.port_b));
  link->set_down(record.down);
}

void to_proto(const DeviceView& view, api::Device* device) {
  to_proto(view.site, device->mutable_site());
  device->set_connected(view.connected);
  device->set_drained(view.site.drained);
  device->set_problem(view.problem);
  device->set_pipes(view.capability.pipes);
  device->set_slots(view.capability.slots);
  device->set_free_slots(view.free_slots);
  device->set_lanes(view.capability.lanes);
  device->set_lanes_per_pass(view.capability.lanes_per_pass);
  device->set_entries(static_cast<uint32_t>(view.entries));
}

void to_proto(const JobView& view, const Topology& topology, api::Job* job) {
  job->set_name(view.name);
  job->set_state(view.state);
  job->set_reason(view.reason);
  job->set_world(view.world);
  job->set_joined(view.joined);
  job->set_goodput_bps(view.plan.goodput_bps);
  job->set_rate_bps(view.plan.rate_bps);
  job->set_limit(view.plan.limit);
  job->set_lanes(view.plan.lanes);
  job->set_changes(view.changes);
  job->set_on_loss(view.on_loss == OnLoss::go_on ? api::CONTINUE : api::END);
  job->set_form_source(view.form_source);
  job->set_form_why(view.form_why);
  for (size_t rank = 0; rank < view.members.size(); ++rank) {
    api::Member* member = job->add_members();
    member->set_rank(static_cast<uint32_t>(rank));
    member->set_host(view.members[rank].host);
    member->set_state(view.members[rank].state);
  }
  for (size_t i = 0; i < view.plan.stripes.size(); ++i) {
    const StripePlan& plan = view.plan.stripes[i];
    api::Stripe* stripe = job->add_stripes();
    stripe->set_job(plan.job);
    stripe->set_epoch(plan.epoch);
    stripe->set_share(plan.share);
    stripe->set_window(plan.window);
    stripe->set_ring(plan.ring);
    stripe->set_shards(plan.shards);
    stripe->set_rtt_s(plan.rtt_s);
    stripe->set_rate_bps(plan.rate_bps);
    if (i < view.phases.size()) stripe->set_phase(view.phases[i]);
    for (size_t a = 0; a < plan.tree.aggregators.size(); ++a) {
      const Aggregator& node = plan.tree.aggregators[a];
      const auto site_name = [&](int index) {
        return topology.sites()[plan.tree.aggregators[index].site].name;
      };
      api::Aggregator* out = stripe->add_aggregators();
      out->set_site(site_name(static_cast<int>(a)));
      if (node.parent >= 0) out->set_parent(site_name(node.parent));
      out->set_slot_base(plan.aggregators[a].slot_base);
      for (const Child& child : node.children)
        out->add_children(child.kind == NodeKind::worker ? topology.hosts()[child.index].name
                                                         : site_name(child.index));
    }
  }
}

void to_proto(const StatisticsView& view, api::Statistics* statistics) {
  for (const auto& s : view.segments) {
    auto* out = statistics->add_segments();
    out->set_job(s.job);
    out->set_site(s.site);
    out->set_peer(s.peer);
    out->set_stripe(s.stripe);
    out->set_missing_packets(s.missing_packets);
    out->set_repaired_packets(s.repaired_packets);
  }
  for (const auto& d : view.drops) {
    auto* out = statistics->add_drops();
    out->set_site(d.site);
    out->set_reason(d.reason);
    out->set_packets(d.packets);
  }
  for (const auto& p : view.ports) {
    auto* out = statistics->add_ports();
    out->set_site(p.site);
    out->set_name(p.name);
    out->set_port(p.port);
    out->set_up(p.up);
    out->set_received_packets(p.received_packets);
    out->set_received_bytes(p.received_bytes);
    out->set_sent_packets(p.sent_packets);
    out->set_sent_bytes(p.sent_bytes);
  }
}

void to_proto(const TelemetryView& view, api::TelemetryFigures* figures) {
  figures->set_interval_s(view.interval_s);
  for (const auto& l : view.links) {
    auto* out = figures->add_links();
    out->set_site(l.site);
    out->set_name(l.name);
    out->set_port(l.port);
    out->set_sent_bps(l.sent_bps);
    out->set_received_bps(l.received_bps);
    out->set_utilisation(l.utilisation);
    out->set_queue_bytes(l.queue_bytes);
    out->set_queue_most_bytes(l.queue_most_bytes);
    out->set_drops_per_s(l.drops_per_s);
  }
  for (const auto& s : view.segments) {
    auto* out = figures->add_segments();
    out->set_job(s.job);
    out->set_site(s.site);
    out->set_peer(s.peer);
    out->set_stripe(s.stripe);
    out->set_packets_per_s(s.packets_per_s);
    out->set_loss(s.loss);
    out->set_skew_s(s.skew_s);
  }
  for (const auto& a : view.aggregators) {
    auto* out = figures->add_aggregators();
    out->set_job(a.job);
    out->set_site(a.site);
    out->set_stripe(a.stripe);
    out->set_waiting_slots(a.waiting_slots);
    out->set_dwell_s(a.dwell_s);
  }
  for (const auto& m : view.members) {
    auto* out = figures->add_members();
    out->set_job(m.job);
    out->set_host(m.host);
    out->set_rank(m.rank);
    out->set_round_trip_s(m.round_trip_s);
    out->set_result_s(m.result_s);
  }
}

void to_proto(const EventRecord& record, api::Event* event) {
  event->set_number(record.number);
  event->set_unix_time_s(record.unix_time_s);
  event->set_kind(record.kind);
  event->set_subject(record.subject);
  event->set_text(record.text);
}

void to_proto(const Controller::ToMember& message, api::ControllerMessage* out) {
  out->set_stripe(message.stripe);
  out->set_change(message.change);
  if (std::holds_alternative<PauseMember>(message.command)) {
    out->mutable_pause();
  } else if (const auto* fetch = std::get_if<FetchCopies>(&message.command)) {
    for (const uint32_t number : fetch->numbers) out->mutable_fetch()->add_numbers(number);
    out->mutable_fetch();
  } else if (const auto* deliver = std::get_if<DeliverCopies>(&message.command)) {
    auto* copies = out->mutable_deliver();
    for (const ResultCopy& copy : deliver->copies) {
      api::ResultCopy* to = copies->add_copies();
      to->set_number(copy.number);
      to->set_exp(copy.exp);
      to->set_next_exp(copy.next_exp);
      to->set_weight(copy.weight);
      to->set_lanes(big_endian(copy.lanes));
    }
  } else if (const auto* resume = std::get_if<ResumeMember>(&message.command)) {
    auto* to = out->mutable_resume();
    to->set_stripe(message.config);
    to->set_first_collective(resume->first_collective);
    to->set_first_chunk(resume->first_chunk);
    to->set_joiner(message.joiner);
    if (resume->stop_before) to->set_stop_before(*resume->stop_before);
  } else if (const auto* fail = std::get_if<FailMember>(&message.command)) {
    out->mutable_fail()->set_reason(fail->reason);
  }
}

std::string big_endian(const std::vector<uint32_t>& words) {
  std::string bytes;
  bytes.reserve(4 * words.size());
  for (const uint32_t word : words)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(word >> shift));
  return bytes;
}

std::vector<uint32_t> words_of(const std::string& bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  for (size_t i = 0; i < 4 * words.size(); ++i)
    words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(bytes[i]);
  return words;
}

}  // namespace l3dml::control
