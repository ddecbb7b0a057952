// The table of contents of egress on BMv2. A copy made by ingress arrives here parsed as it first came, with what the
// mirror header carries on Tofino in copied metadata; a copy made by egress arrives as egress left it.
#ifndef L3DML_V1MODEL_EGRESS_P4_
#define L3DML_V1MODEL_EGRESS_P4_

#include "../replica.p4"
#include "../segment_sender.p4"

control Egress(inout header_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
  Replica() replica;
  SegmentSender() segment_sender;

  COUNTER(8, DROP_REASONS, drop_reasons)

  action drop() {
    mark_to_drop(standard_metadata);
    COUNT(drop_reasons, 8, REASON_UNKNOWN_REPLICA)
  }

  apply {
    bool made_by_ingress = standard_metadata.instance_type == INSTANCE_INGRESS_COPY;
    bool made_by_egress = standard_metadata.instance_type == INSTANCE_EGRESS_COPY;

    meta.eg_md.mirror_pass = 0;
    meta.eg_md.in_reach = 0;
    meta.eg_md.known = 0;
    meta.eg_md.seq = 0;
    meta.eg_md.pass = 0;
    if (made_by_ingress) {
      meta.eg_md.pass = meta.copy_pass;
      meta.eg_md.neighbor = meta.copy_neighbor;
      meta.eg_md.first = meta.copy_first;
      hdr.lanes_low.setInvalid();  // the mirror session cuts them off on Tofino
      hdr.lanes_high.setInvalid();
    } else if (made_by_egress) {
      meta.eg_md.pass = LOOK_UP;
      meta.eg_md.neighbor = hdr.bridge.neighbor;
      meta.eg_md.first = meta.copy_first;
      meta.eg_md.end = meta.copy_end;
    } else if (hdr.bridge.isValid()) {
      meta.eg_md.pass = hdr.bridge.pass;
      meta.eg_md.neighbor = hdr.bridge.neighbor;
      meta.eg_md.first = hdr.l3dml.seq;
      meta.eg_md.end = hdr.l3dml.number;
    }

    if (meta.eg_md.pass >= SEND_DOWN) {
      replica.apply(hdr, meta.eg_md, standard_metadata.egress_rid);
      segment_sender.apply(hdr, meta.eg_md);
      if (meta.eg_md.known == 0) {
        drop();
      } else if (meta.eg_md.mirror_pass != 0) {
        meta.copy_first = meta.eg_md.rest_high ++ meta.eg_md.rest_low;
        meta.copy_end = meta.eg_md.end;
        clone_preserving_field_list(CloneType.E2E, 32w512 | (bit<32>)standard_metadata.egress_port, COPY_FIELDS);
      }
      if (meta.eg_md.pass != LOOK_UP) {
        hdr.bridge.setInvalid();
      }
    }
    if (standard_metadata.egress_port == RECIRCULATION_PORT) {
      recirculate_preserving_field_list(NO_FIELDS);
    }
  }
}

control SwitchDeparser(packet_out packet, in header_t hdr) {
  apply {
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

#endif  // L3DML_V1MODEL_EGRESS_P4_
