#include "tools/sim/world.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dataplane/base/serial.h"
#include "tools/sim/addresses.h"

namespace l3dml::sim {
namespace {}  // namespace

World::World(const Scenario& scenario, PacketTrace* trace)
    : scenario_(scenario),
      random_(Random(scenario.seed).fork(1)),
      trace_(trace),
      network_(scenario_, random_.fork(2), this),
      switches_(scenario.devices),
      ports_(scenario.hosts.size()) {
  share_out();
  for (uint32_t device = 0; device < scenario_.devices; ++device) build(device);
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    jobs_.push_back(std::make_unique<Job>(this, j, scenario_.jobs[j], random_.fork(100 + j)));
  }
}

World::~World() = default;

// Every device sets the same aside for every job, in another order each, so that no two have the same bases.
void World::share_out() {
  device_config_.pipes = scenario_.pipes;
  device_config_.shards_per_pipe = scenario_.shards_per_pipe;
  device_config_.sync_idle_ns = scenario_.sync_idle_ns;
  device_config_.lanes = 64;
  uint32_t slots = 0, neighbors = 1, seq_entries = 0;
  for (Switch& device : switches_) {
    device.resources.resize(scenario_.jobs.size());
    device.installed.resize(scenario_.jobs.size());
    std::vector<uint32_t> order(scenario_.jobs.size());
    for (uint32_t j = 0; j < order.size(); ++j) order[j] = j;
    random_.shuffle(order);
    // Larger rings first keeps every base aligned to its ring.
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return scenario_.jobs[a].ring > scenario_.jobs[b].ring; });
    uint32_t slot = 0, neighbor = 1 + random_.below(4), seq = 0;
    uint16_t index = 1;
    for (uint32_t j : order) {
      const JobSpec& job = scenario_.jobs[j];
      JobResources& r = device.resources[j];
      r.slot_base = slot;
      r.ring = job.ring;
      r.shards = job.shards;
      r.lanes = job.lanes;
      r.neighbor_base = neighbor;
      r.seq_base = seq;
      r.seq_ring = job.seq_ring;
      r.job_index = index;
      r.mgid = index++;
      slot += job.ring;
      neighbor += kNeighborsPerJob;
      seq += kNeighborsPerJob * job.shards * job.seq_ring;
      device_config_.lanes = std::max(device_config_.lanes, job.lanes);
    }
    slots = std::max(slots, slot);
    neighbors = std::max(neighbors, neighbor);
    seq_entries = std::max(seq_entries, seq);
  }
  device_config_.slots = std::bit_ceil(std::max(slots, 1u));
  device_config_.neighbors = neighbors;
  device_config_.ring_entries = std::bit_ceil(std::max(seq_entries, 64u));
}

std::vector<JobResources> World::resources(uint32_t job) const {
  std::vector<JobResources> result;
  for (const Switch& device : switches_) result.push_back(device.resources[job]);
  return result;
}

void World::build(uint32_t index) {
  Switch& device = switches_[index];
  pipeline::DeviceConfig config = device_config_;
  config.mac = device_mac(index);
  const std::vector<base::PacketPool*> pools(config.pipes, &network_.pool());
  device.program.reset();
  device.device = pipeline::Device::create(config, pools, &executor_);
  device.program = std::make_unique<DeviceProgram>(device.device.get(), index, &network_);
  device.program->start_up();
  device.installed.assign(scenario_.jobs.size(), {});
}

void World::add_port(uint32_t host, uint16_t port, Member* member) {
  ports_[host].emplace_back(port, member);
}

void World::note(const std::string& text) {
  if (trace_) trace_->note(now_ns(), text);
}

void World::violate(Violation violation) {
  note(fmt::format("VIOLATION {}: {}", violation.name, violation.text));
  if (!violation_) violation_ = std::move(violation);
}

std::string World::drops() const {
  std::string text;
  for (uint32_t d = 0; d < scenario_.devices; ++d) {
    text += fmt::format("device {} drops:", d);
    for (size_t r = 1; r < base::kDropReasons; ++r) {
      const auto reason = static_cast<base::DropReason>(r);
      if (const uint64_t count = switches_[d].device->drops(reason))
        text += fmt::format(" {} {}", base::drop_reason_name(reason), count);
    }
    text += "\n";
  }
  return text;
}

void World::check_done() {
  done_ = std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->done(); });
}

Outcome World::run() {
  // Where numbers stand at the start: stamps alike, as an earlier epoch would have left them.
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    if (scenario_.jobs[j].newest_number == 0) continue;
    for (Switch& device : switches_)
      device.program->write_stamps(device.resources[j], scenario_.jobs[j].newest_number);
  }
  int64_t longest_ns = scenario_.control_max_ns;
  for (const LinkSpec& link : scenario_.links)
    longest_ns +=
        2 * (link.parameters.delay_ns + link.parameters.jitter_ns + link.parameters.reorder_delay_ns);
  for (const JobSpec& job : scenario_.jobs) {
    for (const MemberSpec& member : job.members) longest_ns = std::max(longest_ns, 4 * member.gap_ns);
  }
  for (const Fault& fault : scenario_.faults) longest_ns = std::max(longest_ns, fault.time_ns + fault.aux_ns);
  patience_ns_ = 300 * longest_ns + 1000 * base::kSecond;
  for (auto& job : jobs_) job->start();
  for (const Fault& fault : scenario_.faults) {
    network_.call_at(fault.time_ns, [this, fault] { happen(fault); });
  }
  network_.call_at(patience_ns_ / 8, [this] { watch(); });
  network_.run(base::kNever, [this] {
    return done_ || violation_.has_value() || network_.packets() > scenario_.most_packets ||
           network_.events() / 8 > scenario_.most_packets;
  });
  if (!violation_ && !done_)
    violate(
        {"progress", fmt::format("{} packets were not enough: {}", network_.packets(), what_is_missing())});
  Outcome result = outcome();
  if (const size_t held = network_.drain(); held && !result.violation)
    result.violation =
        Violation{"bounded_memory", fmt::format("{} packets were neither delivered nor given back", held)};
  return result;
}

// Nothing may stand still for long: if no chunk is finished for many times the longest way, it never will be.
void World::watch() {
  uint64_t work = 0;
  for (const auto& job : jobs_) {
    work += job->epochs() + job->coordinator().change();
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      if (member.core()) work += member.core()->stats().chunks + member.core()->stats().repeats;
      work += member.finished();
    }
  }
  if (work != work_done_) {
    work_done_ = work;
    last_progress_ns_ = now_ns();
  } else if (now_ns() - last_progress_ns_ > patience_ns_ || network_.queued() == 0) {
    return violate({"progress", fmt::format("nothing was finished for {:.3f} s: {}",
                                            static_cast<double>(now_ns() - last_progress_ns_) * 1e-9,
                                            what_is_missing())});
  }
  network_.call_at(now_ns() + patience_ns_ / 8, [this] { watch(); });
}

std::string World::what_is_missing() const {
  static constexpr const char* kWhy[] = {"not sent", "unanswered", "own is missing at the switch",
                                         "others are missing at the switch"};
  std::string text;
  for (const auto& job : jobs_) {
    if (job->done()) continue;
    const auto phase = job->coordinator().phase();
    if (phase != control::Coordinator::Phase::running && phase != control::Coordinator::Phase::ended)
      text += fmt::format("job {} is in step {} of a change; ", job->index() + 1, static_cast<int>(phase));
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      if (!member.started() || !member.core()) continue;
      const uint64_t collective = member.first() + member.finished();
      const host::Missing missing = member.core()->missing(collective);
      text += fmt::format(
          "job {} member {}{} collective {} of {}: {} of {} chunks missing, {} of them sent, oldest number "
          "{} ({}); ",
          job->index() + 1, m,
          member.failed()           ? " (cut off)"
          : member.core()->paused() ? " (paused)"
                                    : "",
          collective, job->spec().collectives.size(), missing.chunks, missing.of, missing.sent,
          missing.first_number, kWhy[static_cast<int>(missing.why)]);
    }
  }
  return text;
}

Outcome World::outcome() const {
  Outcome outcome;
  outcome.violation = violation_;
  outcome.virtual_ns = now_ns();
  outcome.packets = network_.packets();
  outcome.events = network_.events();
  for (const auto& job : jobs_) {
    outcome.epochs += job->epochs();
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      outcome.collectives += member.finished();
      outcome.failed_members += member.failed();
      if (!member.core()) continue;
      outcome.chunks += member.core()->stats().chunks;
      outcome.repeats += member.core()->stats().repeats;
      outcome.retransmitted += member.core()->stats().retransmitted;
    }
  }
  return outcome;
}

// ---- packets ----

void World::from_member(const Member& member, Job& job, uint32_t index, base::Packet* packet) {
  if (trace_)
    trace_->packet(now_ns(), fmt::format("member {} of job {} sends", index, job.index() + 1), *packet);
  const Frame frame = look_at(*packet);
  const wire::L3dmlHeader& h = frame.head->l3dml;
  if (observer_ && h.type() == wire::Type::up) observer_->sent(job.index(), index, h, now_ns());
  if (member.core()->paused())
    violate({"paused_silence", fmt::format("job {} member {} sends while paused", job.index() + 1, index)});
  Ledger* ledger = job.ledger(h.epoch);
  if (h.type() == wire::Type::nack) {
    const uint64_t shard = frame.head->udp.dst_port.load() - base::kUdpPort;
    check_hole(uint64_t{1} << 63 | uint64_t{index} << 48 | uint64_t{job.index()} << 32 |
                   uint64_t{h.epoch} << 24 | uint64_t{h.child} << 16 | shard,
               h, fmt::format("member {}", index));
  }
  if (!ledger && job.coordinator().members().contains(index)) {
    violate(
        {"one_epoch", fmt::format("job {} member {} sends in epoch {}", job.index() + 1, index, h.epoch)});
  } else if (ledger && h.type() == wire::Type::up) {
    if (auto violation = ledger->member_sends(index, frame)) violate(*violation);
  }
  network_.send_from_host(member.host(), packet);
}

void World::wake(const Member& member) {
  const int64_t deadline = member.next_deadline_ns();
  if (deadline != base::kNever)
    network_.wake_host(member.host(), std::max(deadline, now_ns() + base::kMicrosecond));
}

bool World::withheld(const base::Packet& packet, bool at_host) const {
  if (scenario_.withheld == 0 && !observer_) return false;
  const Frame frame = look_at(packet);
  if (frame.head && observer_ && observer_->loses(frame, at_host)) return true;
  return frame.head && (scenario_.withheld >> static_cast<unsigned>(frame.head->l3dml.type()) & 1);
}

void World::at_device(uint32_t index, std::span<base::Packet* const> packets) {
  Switch& device = switches_[index];
  base::Packet* burst[base::kBurst];
  size_t count = 0;
  unsigned pipe = 0;
  const auto flush = [&] {
    if (count) process(index, pipe, {burst, count});
    count = 0;
  };
  for (base::Packet* packet : packets) {
    if (withheld(*packet, false)) {
      base::release(packet);
      continue;
    }
    if (trace_) trace_->packet(now_ns(), fmt::format("device {} port {} gets", index, packet->port), *packet);
    base::Packet* forged =
        scenario_.forged > 0 && random_.chance(scenario_.forged) ? forge(index, *packet) : nullptr;
    if (scenario_.forged > 0) remember(index, *packet);
    for (base::Packet* one : {packet, forged}) {
      if (!one) continue;
      const unsigned belongs = device.device->steer(*one);
      const Frame frame = look_at(*one);
      const bool nack = frame.head && frame.head->l3dml.type() == wire::Type::nack;
      const bool late = frame.head && !nack && is_late(index, frame.head->l3dml);
      if (count == base::kBurst || nack || late || belongs != pipe) flush();
      pipe = belongs;
      if (nack) {
        process_nack(index, pipe, one);
      } else if (late) {
        process_late(index, pipe, one);
      } else {
        burst[count++] = one;
      }
    }
  }
  flush();
}

// One packet out per neighbour and one NACK, whatever comes in.
void World::process(uint32_t index, unsigned pipe, std::span<base::Packet* const> burst) {
  pipeline::Pipe& p = switches_[index].device->pipe(pipe);
  p.process(burst, now_ns(), outbox_);
  if (outbox_.packets().size() > burst.size() * (kNeighborsPerJob + 1))
    violate({"bounded_work", fmt::format("device {} makes {} packets out of {}", index,
                                         outbox_.packets().size(), burst.size())});
  send_out(index);
  network_.wake_device(index, pipe, p.next_deadline_ns());
}

// Speaks of a number whose slot already belongs to the next.
bool World::is_late(uint32_t index, const wire::L3dmlHeader& h) {
  const uint32_t j = h.job.load() - 1u;
  if (j >= jobs_.size() || h.type() == wire::Type::sync) return false;
  const Installed& installed = switches_[index].installed[j];
  const Ledger* ledger =
      installed.admitted && installed.epoch == h.epoch ? jobs_[j]->ledger(h.epoch) : nullptr;
  return ledger && ledger->begun(h.number.load() + ledger->shape().entries);
}

// It may be answered, but never takes the slot back.
void World::process_late(uint32_t index, unsigned pipe, base::Packet* packet) {
  const wire::L3dmlHeader& h = look_at(*packet).head->l3dml;
  const JobResources& r = switches_[index].resources[h.job.load() - 1u];
  const uint32_t number = h.number.load(), shard = number & (r.shards - 1);
  const uint32_t slot = r.slot_base + (number / r.shards & (r.ring - 1));
  const uint32_t at = slot * device_config_.shards_per_pipe + shard / device_config_.pipes;
  tna::RegisterTwin* stamps = switches_[index].device->register_array("pipe.Ingress.slot_state.stamp");
  const auto before = static_cast<uint32_t>(stamps->read(pipe, at)[0]);
  process(index, pipe, {&packet, 1});
  const auto after = static_cast<uint32_t>(stamps->read(pipe, at)[0]);
  if (base::serial_older(after, before))
    violate({"no_step_back",
             fmt::format("device {}: slot {} goes back from number {} to {}", index, slot, before, after)});
}

// A NACK costs one look per entry of the segment's ring at most, whatever range it names.
void World::process_nack(uint32_t index, unsigned pipe, base::Packet* packet) {
  pipeline::Pipe& p = switches_[index].device->pipe(pipe);
  const uint32_t j = look_at(*packet).head->l3dml.job.load() - 1u;
  const uint64_t most = j < jobs_.size() ? jobs_[j]->spec().seq_ring : 1;
  const uint64_t before = p.drops(base::DropReason::nack_not_held);
  p.process({&packet, 1}, now_ns(), outbox_);
  const uint64_t looks = p.drops(base::DropReason::nack_not_held) - before + outbox_.packets().size();
  if (looks > most)
    violate(
        {"bounded_work", fmt::format("device {} looks at {} packets because of one NACK, the ring holds {}",
                                     index, looks, most)});
  repairing_ = true;
  send_out(index);
  repairing_ = false;
  network_.wake_device(index, pipe, p.next_deadline_ns());
}

void World::device_timer(uint32_t index, unsigned pipe) {
  pipeline::Pipe& p = switches_[index].device->pipe(pipe);
  p.tick(now_ns(), outbox_);
  send_out(index);
  network_.wake_device(index, pipe, std::max(p.next_deadline_ns(), now_ns() + 1));
}

void World::send_out(uint32_t index) {
  for (base::Packet* packet : outbox_.packets()) {
    if (trace_)
      trace_->packet(now_ns(), fmt::format("device {} port {} sends", index, packet->port), *packet);
    check_sent(index, *packet);
    network_.send_from_device(index, packet->port, packet);
  }
  outbox_.clear();
}

// What a switch says in its own name must follow from the ledger.
void World::check_sent(uint32_t index, const base::Packet& packet) {
  const Frame frame = look_at(packet);
  if (!frame.head) return;
  const wire::Ipv6Address& src = frame.head->ipv6.src_addr;
  if (wire::address_word(src, 3) != locator(index) ||
      src[8] != static_cast<uint8_t>(wire::Function::aggregate))
    return;
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const uint32_t j = h.job.load() - 1u;
  const Installed* installed = j < jobs_.size() ? &switches_[index].installed[j] : nullptr;
  if (!installed || !installed->admitted || installed->epoch != h.epoch) {
    if (h.type() == wire::Type::sync)
      return;  // what was sent before may still be announced; nobody admits it
    return violate(
        {"one_epoch", fmt::format("device {} sends for job {} epoch {}, which it does not admit: {}", index,
                                  j + 1, h.epoch, format_packet(packet))});
  }
  Ledger* ledger = jobs_[j]->ledger(h.epoch);
  if (!ledger) return;  // left out of the change: nobody listens to it
  const uint64_t segment = uint64_t{index} << 48 | uint64_t{j} << 32 | uint64_t{h.epoch} << 24 |
                           uint64_t{h.child} << 16 |
                           (frame.head->udp.src_port.load() & (base::kMaxShards - 1));
  const bool down = h.type() == wire::Type::down || (h.flags & wire::kFlagDown);
  if (h.type() == wire::Type::nack)
    return check_hole(segment | uint64_t{down} << 8, h, fmt::format("device {}", index));
  if (h.type() != wire::Type::up && h.type() != wire::Type::down) return;
  check_ration(segment | uint64_t{down} << 8, repairing_, packet);
  if (auto violation = ledger->aggregator_sends(installed->aggregator, frame)) violate(*violation);
}

// A hole is asked for once: a repair that is lost is a hole of its own.
void World::check_hole(uint64_t receiver, const wire::L3dmlHeader& h, const std::string& who) {
  const auto [at, first] = asked_for_.try_emplace(receiver, h.number.load());
  if (!first && base::serial_older(h.seq.load(), at->second))
    violate({"one_nack_per_hole",
             fmt::format("{} asks for packets from {} on, but has asked for all before {} of job {} child {}",
                         who, h.seq.load(), at->second, h.job.load(), h.child)});
  at->second = h.number.load();
}

// Repairs never exceed what was sent without being asked for, plus 64 (ARCHITECTURE.md, T7).
void World::check_ration(uint64_t segment, bool repair, const base::Packet& packet) {
  constexpr uint64_t kFirstRepairs = 64;
  Ration& ration = rations_[segment];
  ++(repair ? ration.repairs : ration.firsts);
  if (ration.repairs > ration.firsts + kFirstRepairs)
    violate({"bounded_work", fmt::format("{} repairs after {} first transmissions: {}", ration.repairs,
                                         ration.firsts, format_packet(packet))});
}

void World::at_host(uint32_t host, base::Packet* packet) {
  if (trace_) trace_->packet(now_ns(), fmt::format("host {} gets", host), *packet);
  const Frame frame = look_at(*packet);
  if (frame.head && !withheld(*packet, true)) {
    const uint16_t port = frame.head->udp.dst_port.load();
    for (const auto& [own, member] : ports_[host]) {
      if (own == port) member->receive(frame);
    }
  }
  base::release(packet);
}

void World::host_timer(uint32_t host) {
  for (const auto& [port, member] : ports_[host]) {
    member->timer();
    wake(*member);
  }
}

void World::remember(uint32_t device, const base::Packet& packet) {
  constexpr size_t kMost = 512;
  if (!look_at(packet).head || !random_.chance(0.2)) return;
  const Kept kept{device, packet.port, {packet.data, packet.data + packet.size}};
  if (kept_.size() < kMost) return kept_.push_back(kept);
  kept_[random_.below(kMost)] = kept;
}

// The same packet again, much later: out of some queue that nobody remembered.
base::Packet* World::replay(uint32_t device) {
  if (kept_.empty()) return nullptr;
  const Kept& kept = kept_[random_.below(static_cast<uint32_t>(kept_.size()))];
  base::Packet* packet = kept.device == device ? network_.pool().alloc() : nullptr;
  if (!packet) return nullptr;
  std::memcpy(packet->data, kept.frame.data(), kept.frame.size());
  packet->size = static_cast<uint32_t>(kept.frame.size());
  packet->port = kept.port;
  return packet;
}

// A packet such as a stranger or a broken member could send: it must be refused, or at worst cost little.
base::Packet* World::forge(uint32_t device, const base::Packet& original) {
  if (random_.chance(0.3)) return replay(device);
  const Frame frame = look_at(original);
  if (!frame.head) return nullptr;
  base::Packet* packet = network_.pool().alloc();
  if (!packet) return nullptr;
  std::memcpy(packet->data, original.data, original.size);
  packet->size = original.size;
  packet->port = original.port;
  auto* head = reinterpret_cast<wire::Head*>(packet->data);
  wire::L3dmlHeader& h = head->l3dml;
  const auto as = [&](wire::Type type, uint8_t flags) {  // without lanes
    h.set_type(type);
    h.flags = flags;
    packet->size = wire::kHeadSize;
    head->udp.length.set(wire::kUdpSize + wire::kL3dmlSize);
    head->ipv6.payload_length.set(wire::kUdpSize + wire::kL3dmlSize);
  };
  switch (random_.below(10)) {
    case 0:
      h.epoch = static_cast<uint8_t>(h.epoch + 1 + random_.below(255));
      break;
    case 1:
      head->ipv6.src_addr[13] ^= static_cast<uint8_t>(1 + random_.below(255));
      break;
    case 2:
      h.version_type ^= static_cast<uint8_t>(16 << random_.below(4));
      break;
    case 3:
      h.flags |= static_cast<uint8_t>(16 << random_.below(4));
      break;
    case 4:
      packet->size = random_.below(packet->size);
      break;
    case 5:
      h.slot.set(h.slot.load() + 1 + random_.below(1000));
      break;
    case 6:
      h.child = static_cast<uint8_t>(h.child + 1 + random_.below(200));
      break;
    // From a member that is one, but nonsense:
    case 7:
      as(wire::Type::nack, h.type() == wire::Type::up ? wire::kFlagDown : 0);
      h.seq.set(static_cast<uint32_t>(random_.next()));
      h.number.set(static_cast<uint32_t>(random_.next()));
      break;
    case 8:
      as(wire::Type::nack, h.type() == wire::Type::up ? wire::kFlagDown : 0);
      h.seq.set(0);
      h.number.set(h.seq.load() + random_.below(100000));
      break;
    default:
      as(wire::Type::sync, h.type() == wire::Type::up ? 0 : wire::kFlagDown);
      h.seq.set(h.seq.load() + random_.below(1000));
      break;
  }
  return packet;
}

// ---- faults ----

void World::happen(const Fault& fault) {
  static constexpr const char* kNames[] = {"change wanted", "device restarts", "device dies",
                                           "member dies",   "member joins",    "link down",
                                           "device silent", "member silent"};
  note(fmt::format("FAULT {} (job {}, index {})", kNames[static_cast<int>(fault.kind)], fault.job + 1,
                   fault.index));
  switch (fault.kind) {
    case FaultKind::change_wanted:
      jobs_[fault.job]->report(control::ChangeWanted{});
      break;
    case FaultKind::device_restart:
      restart(fault.index, fault.aux_ns);
      break;
    case FaultKind::device_death:
      lose_device(fault.index, fault.aux_ns);
      break;
    case FaultKind::member_death:
      jobs_[fault.job]->member_dies(fault.index, fault.aux_ns);
      break;
    case FaultKind::member_join:
      jobs_[fault.job]->member_joins();
      break;
    case FaultKind::link_down:
      network_.set_link_up(fault.index, false);
      network_.call_at(now_ns() + fault.aux_ns, [this, fault] { network_.set_link_up(fault.index, true); });
      break;
    case FaultKind::member_silent:
      jobs_[fault.job]->member_silent(fault.index, now_ns() + fault.aux_ns);
      break;
    case FaultKind::device_silent:
      switches_[fault.index].silent = true;
      network_.call_at(now_ns() + fault.aux_ns, [this, fault] {
        switches_[fault.index].silent = false;
        for (auto& job : jobs_)
          job->tell(control::SwitchReturned{fault.index, false}, Job::kSwitchSender + fault.index);
      });
      break;
  }
}

void World::restart(uint32_t device, int64_t noticed_after_ns) {
  if (!network_.device_up(device)) return;
  build(device);
  network_.call_at(now_ns() + noticed_after_ns, [this, device] {
    for (auto& job : jobs_) job->report(control::SwitchReturned{device, true});
  });
}

// A device is gone, and whoever it cut off from the largest part that is left.
void World::lose_device(uint32_t gone, int64_t noticed_after_ns) {
  if (!network_.device_up(gone)) return;
  network_.set_device_up(gone, false);
  network_.find_routes();
  uint32_t centre = 0, most = 0;
  for (uint32_t from = 0; from < scenario_.devices; ++from) {
    uint32_t reached = 0;
    for (uint32_t to = 0; to < scenario_.devices; ++to) reached += network_.next_hop(from, to) != nullptr;
    if (network_.device_up(from) && reached + 1 > most) centre = from, most = reached + 1;
  }
  std::vector<uint32_t> lost;
  for (uint32_t device = 0; device < scenario_.devices; ++device) {
    if (device != centre && !network_.next_hop(centre, device)) {
      network_.set_device_up(device, false);
      lost.push_back(device);
    } else {
      switches_[device].program->routes_changed();
    }
  }
  for (auto& job : jobs_) {
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      if (!network_.device_up(network_.host_device(job->member(m).host())))
        job->member_dies(m, noticed_after_ns);
    }
  }
  network_.call_at(now_ns() + noticed_after_ns, [this, lost] {
    for (auto& job : jobs_) {
      const control::Coordinator& c = job->coordinator();
      const bool summed_there = c.phase() == control::Coordinator::Phase::running &&
                                std::any_of(lost.begin(), lost.end(), [&](uint32_t device) {
                                  const auto& tree = c.plan().switches;
                                  return std::find(tree.begin(), tree.end(), device) != tree.end();
                                });
      for (uint32_t device : lost) job->report(control::SwitchLost{device});
      if (!summed_there) job->report(control::ChangeWanted{});  // segments may have led through what is gone
    }
  });
}

}  // namespace l3dml::sim
