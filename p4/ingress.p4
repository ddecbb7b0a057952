// The table of contents of ingress on Tofino: which block after which, and how a decision is told to the traffic manager.
// Twin: dataplane/pipeline/ingress.cc.
#ifndef L3DML_INGRESS_P4_
#define L3DML_INGRESS_P4_

#include "admission.p4"
#include "aggregator.p4"
#include "exponent.p4"
#include "forwarder.p4"
#include "job.p4"
#include "next_step.p4"
#include "segment_receiver.p4"
#include "slot_state.p4"

parser IngressParser(packet_in packet, out header_t hdr, out ingress_metadata_t ig_md,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
  FrameParser() frame_parser;

  state start {
    packet.extract(ig_intr_md);
    packet.advance(PORT_METADATA_SIZE);
    // op, reason, mask, neighbor and the ports are written further on, once on a path; what is not written is zero.
    ig_md.ours = 0;
    ig_md.admitted = 0;
    ig_md.disagrees = 0;
    ig_md.steered = 0;
    ig_md.seen_mask = DONE;
    ig_md.relation = STAMP_NEWER;
    ig_md.count = 0;
    ig_md.seen = 0;
    ig_md.watched = 0;
    ig_md.mirror_pass = 0;
    ig_md.verdict = VERDICT_ROUTE;
    ig_md.routed = 0;
    ig_md.no_route = 0;
    ig_md.filled = 0;
    ig_md.job_index = 0;
    ig_md.mirror_session = MIRROR_SESSION;
    ig_md.recirculation_port = RECIRCULATION_PORT;
    // The recirculation port of any pipe also carries what the packet generator makes.
    transition select(ig_intr_md.ingress_port) {
      68 &&& 0x7f: from_ourselves;
      default: from_outside;
    }
  }
  state from_outside {
    ig_md.port = ig_intr_md.ingress_port;
    transition frame;
  }
  state from_ourselves {
    transition select(packet.lookahead<bit<8>>()) {
      0x80 &&& 0x80: recirculated;
      default: generated;
    }
  }
  state recirculated {
    packet.extract(hdr.bridge);
    ig_md.port = hdr.bridge.port;
    ig_md.neighbor = hdr.bridge.neighbor;
    ig_md.neighbor_port = hdr.bridge.port;  // a repair's; every other pass is admitted again
    transition frame;
  }
  state generated {
    packet.extract(hdr.generator);
    ig_md.port = ig_intr_md.ingress_port;
    transition frame;
  }
  state frame {
    frame_parser.apply(packet, hdr, ig_md);
    transition accept;
  }
}

control Ingress(inout header_t hdr, inout ingress_metadata_t ig_md, in ingress_intrinsic_metadata_t ig_intr_md,
                in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
  Forwarder() forwarder;
  Admission() admission;
  Job() job;
  SegmentReceiver() segment_receiver;
  SlotState() slot_state;
  Exponent() exponent;
  Aggregator() aggregator;
  NextStep() next_step;

  COUNTER(8, DROP_REASONS, drop_reasons)

  // A later pass knows what it is about; the parser only sees the packet that started it.
  action resume() {
    ig_md.op = hdr.bridge.pass;
  }
  action resume_generated() {
    ig_md.op = OP_GENERATED;
  }
  // A packet without lanes needs room for those that may be read: fields that were not extracted are not zero by
  // guarantee.
  action fill_lanes() {
    ig_md.filled = 1;
    hdr.lanes_low.setValid();
    hdr.lanes_high.setValid();
    hdr.lanes_low = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    hdr.lanes_high = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  }
  // The parser wrote the constant part.
  action note_port() {
    ig_md.recirculation_port[8:7] = ig_intr_md.ingress_port[8:7];
  }

  action bridge() {
    hdr.bridge.setValid();
    hdr.bridge.pass = ig_md.next_pass;
    hdr.bridge.reserved = 0;
    hdr.bridge.port = ig_md.port;
    hdr.bridge.neighbor = ig_md.neighbor;
  }
  action measure_with_lanes() {
    hdr.udp.length = LENGTH_WITH_LANES;
    hdr.ipv6.payload_length = LENGTH_WITH_LANES;
  }
  action remove_lanes() {
    hdr.lanes_low.setInvalid();
    hdr.lanes_high.setInvalid();
  }
  action send_routed() {
    ig_tm_md.ucast_egress_port = ig_md.out_port;
    ig_tm_md.bypass_egress = 1;
  }
  action send_routed_without_lanes() {
    send_routed();
    remove_lanes();
  }
  action drop() {
    ig_dprsr_md.drop_ctl = 1;
    COUNT(drop_reasons, 8, ig_md.reason)
  }
  action recirculate() {
    bridge();
    measure_with_lanes();
    ig_tm_md.ucast_egress_port = ig_md.recirculation_port;
    ig_tm_md.bypass_egress = 1;
  }
  action steer() {
    bridge();
    ig_tm_md.ucast_egress_port = ig_md.owner_port;
    ig_tm_md.bypass_egress = 1;
  }
  action steer_without_lanes() {
    steer();
    remove_lanes();
  }
  action multicast() {
    bridge();
    ig_tm_md.mcast_grp_a = ig_md.mgid;
  }
  action send_to_parent() {
    bridge();
    ig_tm_md.ucast_egress_port = ig_md.parent_port;
  }
  action send_to_sender() {
    bridge();
    ig_tm_md.ucast_egress_port = ig_md.neighbor_port;
  }
  action reply() {
    bridge();
    remove_lanes();
    ig_tm_md.ucast_egress_port = ig_md.neighbor_port;
  }
  action look_up() {
    bridge();
    hdr.bridge.port = ig_md.neighbor_port;
    remove_lanes();
    ig_tm_md.ucast_egress_port = ig_md.recirculation_port;
  }
  action send_generated() {
    bridge();
    hdr.generator.setInvalid();
    remove_lanes();
    ig_tm_md.ucast_egress_port = ig_md.generated_port;
  }
  table deliver {
    key = {
      ig_md.verdict : exact;
      ig_md.filled : ternary;
    }
    actions = {
      send_routed;
      send_routed_without_lanes;
      drop;
      recirculate;
      steer;
      steer_without_lanes;
      multicast;
      send_to_parent;
      send_to_sender;
      reply;
      look_up;
      send_generated;
    }
    const default_action = drop();
    const entries = {
      (VERDICT_ROUTE, 1) : send_routed_without_lanes();
      (VERDICT_ROUTE, _) : send_routed();
      (VERDICT_RECIRCULATE, _) : recirculate();
      (VERDICT_STEER, 1) : steer_without_lanes();
      (VERDICT_STEER, _) : steer();
      (VERDICT_MULTICAST, _) : multicast();
      (VERDICT_TO_PARENT, _) : send_to_parent();
      (VERDICT_TO_SENDER, _) : send_to_sender();
      (VERDICT_REPLY, _) : reply();
      (VERDICT_LOOK_UP, _) : look_up();
      (VERDICT_GENERATED, _) : send_generated();
    }
    size = 11;
  }
  action copy() {
    ig_md.mirror_session[8:0] = ig_md.neighbor_port;  // the parser wrote the rest
    ig_dprsr_md.mirror_type = MIRROR_TYPE;
  }

  apply {
    note_port();
    if (hdr.bridge.isValid() && hdr.bridge.pass != PASS_STEERED) {
      resume();
    } else if (hdr.generator.isValid()) {
      resume_generated();
    }
    if (hdr.l3dml.isValid() && !hdr.lanes_low.isValid()) {
      fill_lanes();
    }

    forwarder.apply(hdr, ig_md);
    admission.apply(hdr, ig_md, ig_intr_md.ingress_port);
    job.apply(ig_md);
    segment_receiver.apply(hdr, ig_md);
    slot_state.apply(hdr, ig_md);
    exponent.apply(hdr, ig_md);
    next_step.apply(hdr, ig_md);
    aggregator.apply(hdr, ig_md);

    deliver.apply();
    if (ig_md.mirror_pass != 0) {
      copy();
    }
  }
}

control IngressDeparser(packet_out packet, inout header_t hdr, in ingress_metadata_t ig_md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
  Mirror(MIRROR_TYPE) mirror;
  Checksum() ipv4_checksum;

  apply {
    if (ig_dprsr_md.mirror_type == MIRROR_TYPE) {
      mirror.emit<mirror_h>(ig_md.mirror_session, {ig_md.mirror_pass, ig_md.neighbor, ig_md.first_missing});
    }
    if (hdr.ipv4.isValid()) {
      hdr.ipv4.checksum = ipv4_checksum.update({hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.traffic_class,
                                                hdr.ipv4.total_length, hdr.ipv4.identification,
                                                hdr.ipv4.flags_fragment, hdr.ipv4.hop_limit, hdr.ipv4.protocol,
                                                hdr.ipv4.src_addr, hdr.ipv4.dst_addr});
    }
    packet.emit(hdr.bridge);
    packet.emit(hdr.ethernet);
    packet.emit(hdr.ipv6);
    packet.emit(hdr.ipv4);
    packet.emit(hdr.udp);
    packet.emit(hdr.l3dml);
    packet.emit(hdr.lanes_low);
    packet.emit(hdr.lanes_high);
  }
}

#endif  // L3DML_INGRESS_P4_
