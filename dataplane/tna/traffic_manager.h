// Which copies leave the traffic manager for a packet that ingress is done with: unicast, both multicast
// groups, the copy to the processor and a resubmit are independent of each other (bfrt.md 4.5). Pure; the
// caller makes the copies. Recirculation is no copy of its own: a packet sent to a recirculation port comes
// back as a new one.
#pragma once

#include "dataplane/tna/intrinsic.h"
#include "dataplane/tna/multicast.h"

namespace l3dml::tna {

struct TmCopy {
  enum class Kind : uint8_t { unicast, multicast, cpu } kind = Kind::unicast;
  EgressIntrinsic egress;
  bool bypass_egress = false;
};

class TrafficManager {
 public:
  TrafficManager(const Multicast& multicast, uint16_t cpu_port)
      : multicast_(multicast), cpu_port_(cpu_port) {}

  // Calls function(TmCopy) for each copy. `resubmitted`: this pass is one already; it cannot be repeated.
  // True if the packet goes through ingress once more instead of being forwarded.
  template <typename Function>
  bool forward(const IngressForTm& tm, const IngressForDeparser& deparser, bool resubmitted,
               Function function) const {
    if (tm.copy_to_cpu && !(deparser.drop_ctl & kDropCopyToCpu))
      emit(TmCopy::Kind::cpu, cpu_port_, 0, false, tm, tm.icos_for_copy_to_cpu, function);
    if (deparser.drop_ctl & kDropPacket) return false;
    if (deparser.resubmit_type && !resubmitted) return true;
    if (tm.ucast_egress_port)
      emit(TmCopy::Kind::unicast, *tm.ucast_egress_port, 0, false, tm, tm.ingress_cos, function);
    bool first = true;
    for (const auto& group : {tm.mcast_grp_a, tm.mcast_grp_b}) {
      if (!group) continue;
      uint32_t last_rid = ~0u;
      multicast_.replicate(
          *group, tm.level1_exclusion_id, tm.rid, tm.level2_exclusion_id, [&](Multicast::Replica replica) {
            first = replica.rid != last_rid;
            last_rid = replica.rid;
            emit(TmCopy::Kind::multicast, replica.port, replica.rid, first, tm, tm.ingress_cos, function);
          });
    }
    return false;
  }

 private:
  template <typename Function>
  static void emit(TmCopy::Kind kind, uint16_t port, uint16_t rid, bool first, const IngressForTm& tm,
                   uint8_t cos, Function& function) {
    TmCopy copy{.kind = kind, .egress = {}, .bypass_egress = tm.bypass_egress};
    copy.egress.egress_port = port;
    copy.egress.egress_rid = rid;
    copy.egress.egress_rid_first = first;  // of the copies of one node
    copy.egress.egress_qid = tm.qid;
    copy.egress.egress_cos = cos;
    function(copy);
  }

  const Multicast& multicast_;
  uint16_t cpu_port_;
};

}  // namespace l3dml::tna
