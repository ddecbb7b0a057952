#include "tools/host/testing/fake_aggregator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dataplane/base/serial.h"
#include "fmt/format.h"

namespace l3dml::host::testing {

using base::serial_newer;
using wire::Type;

FakeAggregator::FakeAggregator(const StripeConfig& stripe, unsigned children, Send send)
    : stripe_(stripe), children_(children), send_(std::move(send)) {}

Datagram FakeAggregator::make(Type type, uint8_t flags, unsigned child, uint32_t number) const {
  Datagram packet;
  packet.bytes.resize(wire::kL3dmlSize);
  wire::L3dmlHeader& h = packet.header();
  h.set_type(type);
  h.flags = flags;
  h.job.set(stripe_.job);
  h.epoch = stripe_.epoch;
  h.child = static_cast<uint8_t>(child);
  h.number.set(number);
  return packet;
}

void FakeAggregator::emit(unsigned child, unsigned shard, Datagram packet) {
  packet.shard = shard;
  if (packet.header().type() == Type::down) {
    Segment& s = segment(child, shard);
    s.numbers[s.next] = packet.header().number.load();
    packet.header().seq.set(s.next++);
  }
  if (!withheld.contains(packet.header().type())) send_(child, std::move(packet));
}

void FakeAggregator::down(unsigned child, const Entry& entry) {
  Datagram packet = make(Type::down, 0, child, entry.stamp);
  packet.header().exp = entry.exp;
  packet.header().next_exp = entry.exp_max;
  packet.header().weight.set(entry.weight);
  packet.bytes.resize(wire::kL3dmlSize + stripe_.lanes * 4);
  for (uint32_t i = 0; i < stripe_.lanes; ++i) {
    const wire::be32_t lane(entry.lanes[i]);
    std::memcpy(&packet.bytes[wire::kL3dmlSize + i * 4], &lane, 4);
  }
  emit(child, entry.stamp & (stripe_.shards - 1), std::move(packet));
}

void FakeAggregator::answer_hole(unsigned child, unsigned shard, uint32_t first, uint32_t next) {
  Segment& s = segment(child, shard);
  if (serial_newer(first, s.expected)) {
    Datagram packet = make(Type::nack, 0, child, first);
    packet.header().seq.set(s.expected);
    emit(child, shard, std::move(packet));
  }
  if (serial_newer(next, s.expected)) s.expected = next;
}

FakeAggregator::Entry& FakeAggregator::entry(uint32_t slot, unsigned shard) {
  const auto [at, fresh] = ring_.try_emplace(slot << 6 | shard);
  if (fresh) at->second.stamp = blank_stamp_;
  return at->second;
}

void FakeAggregator::receive(const Datagram& packet) {
  const wire::L3dmlHeader& h = packet.header();
  if (h.version() != wire::kVersion || h.job.load() != stripe_.job || h.epoch != stripe_.epoch ||
      h.child >= children_)
    return;
  switch (h.type()) {
    case Type::up:
      return up(packet);
    case Type::probe:
      return probe(packet);
    case Type::nack:
      return nack(packet);
    case Type::sync:
      return answer_hole(h.child, packet.shard, h.seq.load(), h.seq.load());
    default:
      complaints.push_back(fmt::format("type {} from a worker", h.version_type & 15));
  }
}

void FakeAggregator::up(const Datagram& packet) {
  const wire::L3dmlHeader& h = packet.header();
  const uint32_t number = h.number.load();
  const unsigned child = h.child;
  const uint32_t slot =
      stripe_.slot_base + ((number >> std::countr_zero(stripe_.shards)) & (stripe_.ring - 1));
  if (h.slot.load() != slot || (number & (stripe_.shards - 1)) != packet.shard)
    complaints.push_back(
        fmt::format("number {} sent to slot {} of shard {}", number, h.slot.load(), packet.shard));
  if (packet.lane_count() != 0 && packet.lane_count() != stripe_.lanes)
    complaints.push_back(fmt::format("{} lanes in number {}", packet.lane_count(), number));
  // A resend says what the first one said, but for RETX and seq.
  std::string fixed(packet.bytes.begin(), packet.bytes.end());
  fixed[1] = 0;
  fixed.replace(20, 4, 4, '\0');
  const size_t digest = std::hash<std::string>()(fixed);
  const auto [said, fresh] = said_.try_emplace({child, number}, Said{h.seq.load(), digest});
  if (said->second.digest != digest)
    complaints.push_back(fmt::format("number {} of child {} changed when sent again", number, child));
  if (serial_newer(h.seq.load(), said->second.least_seq) && !(h.flags & wire::kFlagRetx))
    complaints.push_back(fmt::format("number {} of child {} sent again without RETX", number, child));
  said_.erase({child, number - 4 * stripe_.window});  // long over

  answer_hole(child, packet.shard, h.seq.load(), h.seq.load() + 1);
  Entry& entry = this->entry(slot, packet.shard);
  std::vector<uint32_t> lanes(stripe_.lanes);
  for (size_t i = 0; i < packet.lane_count(); ++i) {
    wire::be32_t lane;
    std::memcpy(&lane, &packet.bytes[wire::kL3dmlSize + i * 4], 4);
    lanes[i] = lane.load();
  }
  if (serial_newer(entry.stamp, number)) return;
  if (serial_newer(number, entry.stamp)) {
    if (!entry.done && !entry.seen.empty())
      complaints.push_back(fmt::format("number {} restarts unfinished {}", number, entry.stamp));
    entry = {number, {child}, false, lanes, h.exp, h.next_exp, h.weight.load()};
  } else if (entry.done) {
    return down(child, entry);
  } else if (!entry.seen.insert(child).second) {
    return;
  } else {
    for (uint32_t i = 0; i < stripe_.lanes; ++i) entry.lanes[i] += lanes[i];
    entry.exp_max = std::max(entry.exp_max, h.next_exp);
    entry.weight = static_cast<uint16_t>(entry.weight + h.weight.load());
    if (h.exp != entry.exp) entry.exp_max = wire::kExpOverflow;
  }
  if (entry.seen.size() < children_) return;
  entry.done = true;
  ++finished;
  for (unsigned c = 0; c < children_; ++c) down(c, entry);
}

void FakeAggregator::probe(const Datagram& packet) {
  const wire::L3dmlHeader& h = packet.header();
  const uint32_t number = h.number.load();
  const Entry& entry = this->entry(h.slot.load(), packet.shard);
  if (serial_newer(entry.stamp, number)) return;
  if (entry.stamp == number && entry.done) return down(h.child, entry);
  Datagram answer = make(Type::probe, wire::kFlagDown, h.child, number);
  answer.header().tag = h.tag;
  answer.header().weight.set(entry.stamp == number && entry.seen.contains(h.child));
  emit(h.child, packet.shard, std::move(answer));
}

void FakeAggregator::nack(const Datagram& packet) {
  const wire::L3dmlHeader& h = packet.header();
  Segment& s = segment(h.child, packet.shard);
  for (uint32_t seq = h.seq.load(); seq != h.number.load(); ++seq) {
    const auto number = s.numbers.find(seq);
    if (number == s.numbers.end()) {
      complaints.push_back(fmt::format("NACK of seq {} that was never sent", seq));
      return;
    }
    const uint32_t slot =
        stripe_.slot_base + ((number->second >> std::countr_zero(stripe_.shards)) & (stripe_.ring - 1));
    const Entry& entry = this->entry(slot, packet.shard);
    if (entry.stamp == number->second && entry.done) down(h.child, entry);
  }
}

void FakeAggregator::send_syncs() {
  for (auto& [key, s] : segments_) {
    Datagram packet = make(Type::sync, wire::kFlagDown, key.first, 0);
    packet.header().seq.set(s.next);
    emit(key.first, key.second, std::move(packet));
  }
}

}  // namespace l3dml::host::testing
