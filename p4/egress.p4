// The table of contents of egress on Tofino. Only what this switch sends as an aggregator comes here; everything else
// bypasses egress. Twin: dataplane/pipeline/egress.cc.
#ifndef L3DML_EGRESS_P4_
#define L3DML_EGRESS_P4_

#include "replica.p4"
#include "segment_sender.p4"

parser EgressParser(packet_in packet, out header_t hdr, out egress_metadata_t eg_md,
                    out egress_intrinsic_metadata_t eg_intr_md) {
  state start {
    packet.extract(eg_intr_md);
    eg_md.known = 0;
    eg_md.in_reach = 0;
    eg_md.mirror_pass = 0;
    eg_md.mirror_session = MIRROR_SESSION;
    eg_md.seq = 0;
    transition select(packet.lookahead<bit<8>>()) {
      MIRROR_NACK: mirrored;
      MIRROR_WAITING: mirrored;
      MIRROR_NACK_STEERED: mirrored_steered;
      MIRROR_WAITING_STEERED: mirrored_steered;
      MIRROR_LOOK_UP: rest;
      LOOK_UP: look_up;
      default: bridged;
    }
  }
  state mirrored {
    packet.extract(hdr.mirror);
    eg_md.pass = hdr.mirror.pass;
    eg_md.neighbor = hdr.mirror.neighbor;
    eg_md.first = hdr.mirror.first_missing;
    transition frame;
  }
  state mirrored_steered {
    packet.extract(hdr.mirror);
    eg_md.pass = hdr.mirror.pass;
    eg_md.neighbor = hdr.mirror.neighbor;
    eg_md.first = hdr.mirror.first_missing;
    packet.extract(hdr.bridge);
    transition frame;
  }
  state bridged {
    packet.extract(hdr.bridge);
    eg_md.pass = hdr.bridge.pass;
    eg_md.neighbor = hdr.bridge.neighbor;
    transition frame;
  }
  state frame {
    packet.extract(hdr.ethernet);
    packet.extract(hdr.ipv6);
    packet.extract(hdr.udp);
    packet.extract(hdr.l3dml);
    transition accept;
  }
  state look_up {
    packet.extract(hdr.bridge);
    eg_md.pass = LOOK_UP;
    eg_md.neighbor = hdr.bridge.neighbor;
    packet.extract(hdr.ethernet);
    packet.extract(hdr.ipv6);
    packet.extract(hdr.udp);
    packet.extract(hdr.l3dml);
    eg_md.first = hdr.l3dml.seq;
    eg_md.end = hdr.l3dml.number;
    transition accept;
  }
  state rest {
    packet.extract(hdr.rest);
    eg_md.pass = LOOK_UP;
    eg_md.first = hdr.rest.first;
    eg_md.end = hdr.rest.end;
    packet.extract(hdr.bridge);
    eg_md.neighbor = hdr.bridge.neighbor;
    transition frame;
  }
}

control Egress(inout header_t hdr, inout egress_metadata_t eg_md, in egress_intrinsic_metadata_t eg_intr_md,
               in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
               inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
               inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
  Replica() replica;
  SegmentSender() segment_sender;

  COUNTER(8, DROP_REASONS, drop_reasons)

  action note_port() {
    eg_md.mirror_session[8:0] = eg_intr_md.egress_port;
  }
  action drop() {
    eg_dprsr_md.drop_ctl = 1;
    COUNT(drop_reasons, 8, REASON_UNKNOWN_REPLICA)
  }
  action copy() {
    eg_dprsr_md.mirror_type = MIRROR_TYPE;
  }
  action strip() {
    hdr.bridge.setInvalid();
  }

  apply {
    note_port();
    replica.apply(hdr, eg_md, eg_intr_md.egress_rid);
    segment_sender.apply(hdr, eg_md);

    if (eg_md.known == 0) {
      drop();
    } else if (eg_md.mirror_pass != 0) {
      copy();
    }
    if (eg_md.pass != LOOK_UP) {
      strip();  // only a NACK's repair goes on inside the switch
    }
  }
}

control EgressDeparser(packet_out packet, inout header_t hdr, in egress_metadata_t eg_md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
  Mirror(MIRROR_TYPE) mirror;

  apply {
    if (eg_dprsr_md.mirror_type == MIRROR_TYPE) {
      mirror.emit<rest_written_h>(eg_md.mirror_session, {eg_md.mirror_pass, eg_md.rest_high, eg_md.rest_low, eg_md.end});
    }
    packet.emit(hdr.bridge);
    packet.emit(hdr.ethernet);
    packet.emit(hdr.ipv6);
    packet.emit(hdr.udp);
    packet.emit(hdr.l3dml);
  }
}

#endif  // L3DML_EGRESS_P4_
