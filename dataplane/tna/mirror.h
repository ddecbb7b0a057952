// Mirror sessions, as $mirror.cfg sets them: where a mirrored copy goes and how long it may be. The copy
// begins with the header that the deparser emitted, then the packet as it came (ingress) or as it would leave
// (egress), cut after max_pkt_len bytes, the header included. A copy goes to a port, to multicast groups, or
// both; it enters egress.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/tna/intrinsic.h"

namespace l3dml::tna {

constexpr uint16_t kMirrorSessions = 1024;

struct MirrorSession {
  bool enabled = true;
  Gress direction = Gress::both;
  std::optional<uint16_t> ucast_egress_port, mcast_grp_a, mcast_grp_b;
  uint16_t rid = 0, level1_exclusion_id = 0, level2_exclusion_id = 0;
  uint8_t qid = 0, ingress_cos = 0;
  Color packet_color = Color::green;
  bool copy_to_cpu = false;
  uint16_t max_pkt_len = 0;  // bytes; 0: not cut
};

// Sessions as a driver sees them; calls are made inside Executor::run().
class MirrorTwin {
 public:
  virtual ~MirrorTwin() = default;
  virtual bool set(uint16_t sid, const MirrorSession& session) = 0;  // false: there is no such session number
  virtual void remove(uint16_t sid) = 0;
};

class MirrorTable final : public MirrorTwin {
 public:
  bool set(uint16_t sid, const MirrorSession& session) override {
    if (sid >= kMirrorSessions) return false;
    sessions_[sid] = session;
    return true;
  }
  void remove(uint16_t sid) override { sessions_.erase(sid); }
  bool exists(uint16_t sid) const { return sessions_.contains(sid); }

  // The session if a copy is to be made of a packet in this direction.
  const MirrorSession* find(uint16_t sid, Gress direction) const {
    const auto it = sessions_.find(sid);
    if (it == sessions_.end() || !it->second.enabled) return nullptr;
    const auto wanted = static_cast<unsigned>(it->second.direction), given = static_cast<unsigned>(direction);
    return wanted & given ? &it->second : nullptr;
  }
  // Bytes of a copy with `header` bytes in front of a packet of `size`.
  static size_t copy_size(const MirrorSession& session, size_t header, size_t size) {
    const size_t all = header + size;
    return session.max_pkt_len == 0 ? all : std::min<size_t>(all, session.max_pkt_len);
  }
  // What the traffic manager shall do with the copy.
  static IngressForTm destination(const MirrorSession& session) {
    IngressForTm tm;
    tm.ucast_egress_port = session.ucast_egress_port;
    tm.mcast_grp_a = session.mcast_grp_a;
    tm.mcast_grp_b = session.mcast_grp_b;
    tm.rid = session.rid;
    tm.level1_exclusion_id = session.level1_exclusion_id;
    tm.level2_exclusion_id = session.level2_exclusion_id;
    tm.qid = session.qid;
    tm.ingress_cos = session.ingress_cos;
    tm.packet_color = static_cast<uint8_t>(session.packet_color);
    tm.copy_to_cpu = session.copy_to_cpu;
    return tm;
  }

 private:
  absl::flat_hash_map<uint16_t, MirrorSession> sessions_;
};

}  // namespace l3dml::tna
