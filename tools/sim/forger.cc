#include "tools/sim/forger.h"

#include <cstring>

#include "tools/sim/frame.h"

namespace l3dml::sim {

void Forger::remember(uint32_t device, const base::Packet& packet) {
  constexpr size_t kMost = 512;
  if (!look_at(packet).head || !random_.chance(0.2)) return;
  const Kept kept{device, packet.port, {packet.data, packet.data + packet.size}};
  if (kept_.size() < kMost) return kept_.push_back(kept);
  kept_[random_.below(kMost)] = kept;
}

// The same packet again, much later: out of some queue that nobody remembered.
base::Packet* Forger::replay(uint32_t device) {
  if (kept_.empty()) return nullptr;
  const Kept& kept = kept_[random_.below(static_cast<uint32_t>(kept_.size()))];
  base::Packet* packet = kept.device == device ? pool_.alloc() : nullptr;
  if (!packet) return nullptr;
  std::memcpy(packet->data, kept.frame.data(), kept.frame.size());
  packet->size = static_cast<uint32_t>(kept.frame.size());
  packet->port = kept.port;
  return packet;
}

// A packet such as a stranger or a broken member could send: it must be refused, or at worst cost little.
base::Packet* Forger::forge(uint32_t device, const base::Packet& original) {
  if (random_.chance(0.3)) return replay(device);
  const Frame frame = look_at(original);
  if (!frame.head) return nullptr;
  base::Packet* packet = pool_.alloc();
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
  switch (random_.below(11)) {
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
    case 7:  // of another job, here by the header alone, there by the address too
      h.job.set(static_cast<uint16_t>(h.job.load() + 1 + random_.below(20)));
      if (random_.chance(0.5)) break;
      as(wire::Type::nack, h.type() == wire::Type::up ? wire::kFlagDown : 0);
      std::memcpy(&head->ipv6.dst_addr[10], &h.job, 2);
      break;
    // From a member that is one, but nonsense:
    case 8:
      as(wire::Type::nack, h.type() == wire::Type::up ? wire::kFlagDown : 0);
      h.seq.set(static_cast<uint32_t>(random_.next()));
      h.number.set(static_cast<uint32_t>(random_.next()));
      break;
    case 9:
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

}  // namespace l3dml::sim
