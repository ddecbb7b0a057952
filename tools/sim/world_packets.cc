// What passes through a world: packets of members and switches, and what must hold of each.
#include <utility>

#include <fmt/format.h>

#include "dataplane/base/serial.h"
#include "tools/sim/addresses.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr uint8_t kHopLimit = 64;  // of what a switch makes

}  // namespace

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
               h, "member", index);
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
        scenario_.forged > 0 && random_.chance(scenario_.forged) ? forger_.forge(index, *packet) : nullptr;
    if (scenario_.forged > 0) forger_.remember(index, *packet);
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
  // A packet of its own that comes by again, on a detour or after routes have changed, is but passed on.
  if (frame.head->ipv6.hop_limit != kHopLimit) return;
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
  if (h.type() == wire::Type::nack) return check_hole(segment | uint64_t{down} << 8, h, "device", index);
  if (h.type() != wire::Type::up && h.type() != wire::Type::down) return;
  check_ration(segment | uint64_t{down} << 8, repairing_, packet);
  // Between switches a segment may begin near the end of the range.
  seen_.seqs_wrapped += h.type() == wire::Type::up && h.seq.load() == 0 && jobs_[j]->spec().first_seq != 0;
  if (auto violation = ledger->aggregator_sends(installed->aggregator, frame)) violate(*violation);
}

// A hole is asked for once: a repair that is lost is a hole of its own.
void World::check_hole(uint64_t receiver, const wire::L3dmlHeader& h, const char* what, uint32_t index) {
  const auto [at, first] = asked_for_.try_emplace(receiver, h.number.load());
  if (!first && base::serial_older(h.seq.load(), at->second))
    violate(
        {"one_nack_per_hole",
         fmt::format("{} {} asks for packets from {} on, but has asked for all before {} of job {} child {}",
                     what, index, h.seq.load(), at->second, h.job.load(), h.child)});
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
  if (!frame.head && observer_) observer_->ordinary(host, *packet, now_ns());
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

}  // namespace l3dml::sim
