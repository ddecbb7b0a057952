#include "control/jobs/admission.h"

namespace l3dml::control {
namespace {

// Lower wins: the most exact entry first, so that a miss of one field names that field.
enum Priority : uint32_t {
  kAdmit = 10,
  kWrongSlot = 20,
  kWrongSource = 30,
  kWrongChild = 40,
  kWrongEpoch = 50
};

struct Kind {
  PacketType type;
  bool down;      // direction flag
  bool has_slot;  // its slot field names an entry of our ring
};
constexpr Kind kFromChild[] = {{PacketType::up, false, true},
                               {PacketType::probe, false, true},
                               {PacketType::nack, true, false},    // it misses results
                               {PacketType::sync, false, false}};  // its segment up fell quiet
constexpr Kind kFromParent[] = {
    {PacketType::down, false, true}, {PacketType::nack, false, false}, {PacketType::sync, true, false}};

class Key {
 public:
  Key() { key_.table = "pipe.Ingress.admission.admission"; }
  Key& ternary(const char* field, uint64_t value, int bits, uint64_t mask) {
    key_.matches.push_back({field, MatchKind::ternary, be(value & mask, bits), be(mask, bits), 0});
    return *this;
  }
  Key& all_of(const char* field, uint64_t value, int bits) {
    return ternary(field, value, bits, bits == 64 ? ~0ull : (1ull << bits) - 1);
  }
  EntryKey with(Priority priority) {
    key_.matches.push_back({"$MATCH_PRIORITY", MatchKind::exact, be(priority, 32), {}, 0});
    return std::move(key_);
  }

 private:
  EntryKey key_;
};

Key base_key(const AdmissionSpec& spec) {
  return Key().all_of("hdr.l3dml.job", spec.job, 16).all_of("hdr.l3dml.epoch", spec.epoch, 8);
}

Key kind_key(const AdmissionSpec& spec, const Peer& peer, const Kind& kind) {
  return base_key(spec)
      .all_of("hdr.l3dml.type", static_cast<uint8_t>(kind.type), 4)
      .ternary("hdr.l3dml.flags", kind.down ? kFlagDown : 0, 8, kFlagDown)
      .all_of("hdr.l3dml.child", peer.child, 8);
}

Key source_key(const AdmissionSpec& spec, const Peer& peer, const Kind& kind) {
  Key key =
      kind_key(spec, peer, kind).all_of("src_locator", peer.locator, 16).all_of("src_host", peer.host, 32);
  if (peer.edge_port >= 0) key.all_of("ig_intr_md.ingress_port", static_cast<uint64_t>(peer.edge_port), 9);
  return key;
}

EntryData admit(const AdmissionSpec& spec, const Peer& peer) {
  const uint32_t mask = peer.parent ? 0 : 1u << peer.child;
  return {"Ingress.admission.admit",
          {{"mask", be(mask, 32)},
           {"children", be(spec.children, 16)},
           {"role", be(static_cast<uint8_t>(spec.role), 8)},
           {"neighbor", be(peer.neighbor, 16)},
           {"neighbor_port", be(peer.port, 9)},
           {"parent", be(spec.parent_neighbor, 16)},
           {"parent_port", be(spec.parent_port, 9)},
           {"mgid", be(spec.mgid, 16)},
           {"job_index", be(spec.job_index, 16)}}};
}

EntryData reject(Reject reason) {
  return {"Ingress.admission.reject", {{"reason", be(static_cast<uint8_t>(reason), 8)}}};
}

}  // namespace

std::vector<Entry> admission_entries(const AdmissionSpec& spec) {
  std::vector<Entry> entries;
  const uint32_t slot_mask = ~(spec.ring - 1);
  for (const Peer& peer : spec.peers) {
    const auto add = [&](const Kind& kind) {
      Key exact = source_key(spec, peer, kind);
      if (kind.has_slot) {
        exact.ternary("hdr.l3dml.slot", spec.slot_base, 32, slot_mask);
        entries.push_back({source_key(spec, peer, kind).with(kWrongSlot), reject(Reject::wrong_slot)});
      }
      entries.push_back({exact.with(kAdmit), admit(spec, peer)});
      entries.push_back({kind_key(spec, peer, kind).with(kWrongSource), reject(Reject::wrong_source)});
    };
    if (peer.parent)
      for (const Kind& kind : kFromParent) add(kind);
    else
      for (const Kind& kind : kFromChild) add(kind);
  }
  entries.push_back({base_key(spec).with(kWrongChild), reject(Reject::wrong_child)});
  entries.push_back(
      {Key().all_of("hdr.l3dml.job", spec.job, 16).with(kWrongEpoch), reject(Reject::wrong_epoch)});
  return entries;
}

}  // namespace l3dml::control
