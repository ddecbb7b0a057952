// The table of contents of ingress on BMv2: the blocks of ../ in the order of ../ingress.p4, and how a decision is told to
// v1model. Recirculated frames come back as on Tofino, with the bridge header in front.
#ifndef L3DML_V1MODEL_INGRESS_P4_
#define L3DML_V1MODEL_INGRESS_P4_

#include "../admission.p4"
#include "../aggregator.p4"
#include "../exponent.p4"
#include "../forwarder.p4"
#include "../job.p4"
#include "../next_step.p4"
#include "../segment_receiver.p4"
#include "../slot_state.p4"

parser SwitchParser(packet_in packet, out header_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
  FrameParser() frame_parser;

  state start {
    meta.ig_md.port = standard_metadata.ingress_port;
    meta.ig_md.op = OP_NONE;
    meta.ig_md.reason = REASON_NONE;
    meta.ig_md.seen_mask = DONE;
    meta.ig_md.verdict = VERDICT_ROUTE;
    transition select(standard_metadata.instance_type, standard_metadata.ingress_port) {
      (INSTANCE_RECIRCULATED, _): recirculated;
      (_, 68 &&& 0x7f): generated;  // whoever plays the packet generator sends to this port
      default: frame;
    }
  }
  state recirculated {
    packet.extract(hdr.bridge);
    meta.ig_md.port = hdr.bridge.port;
    meta.ig_md.neighbor = hdr.bridge.neighbor;
    meta.ig_md.neighbor_port = hdr.bridge.port;  // a repair's; every other pass is admitted again
    transition frame;
  }
  state generated {
    packet.extract(hdr.generator);
    transition frame;
  }
  state frame {
    frame_parser.apply(packet, hdr, meta.ig_md);
    transition accept;
  }
}

control Ingress(inout header_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
  Forwarder() forwarder;
  Admission() admission;
  Job() job;
  SegmentReceiver() segment_receiver;
  SlotState() slot_state;
  Exponent() exponent;
  Aggregator() aggregator;
  NextStep() next_step;

  COUNTER(8, DROP_REASONS, drop_reasons)

  action fill_lanes() {
    meta.ig_md.filled = 1;
    hdr.lanes_low.setValid();
    hdr.lanes_high.setValid();
    hdr.lanes_low = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    hdr.lanes_high = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  }
  action bridge() {
    hdr.bridge.setValid();
    hdr.bridge.pass = meta.ig_md.next_pass;
    hdr.bridge.reserved = 0;
    hdr.bridge.port = meta.ig_md.port;
    hdr.bridge.neighbor = meta.ig_md.neighbor;
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
    standard_metadata.egress_spec = meta.ig_md.out_port;
  }
  action send_routed_without_lanes() {
    send_routed();
    remove_lanes();
  }
  action drop() {
    mark_to_drop(standard_metadata);
    COUNT(drop_reasons, 8, meta.ig_md.reason)
  }
  action recirculate() {
    bridge();
    measure_with_lanes();
    standard_metadata.egress_spec = OWN_RECIRCULATION_PORT;
  }
  action steer() {
    bridge();
    standard_metadata.egress_spec = OWN_RECIRCULATION_PORT;
  }
  action steer_without_lanes() {
    steer();
    remove_lanes();
  }
  action multicast() {
    bridge();
    standard_metadata.mcast_grp = meta.ig_md.mgid;
  }
  action send_to_parent() {
    bridge();
    standard_metadata.egress_spec = meta.ig_md.parent_port;
  }
  action send_to_sender() {
    bridge();
    standard_metadata.egress_spec = meta.ig_md.neighbor_port;
  }
  action reply() {
    bridge();
    remove_lanes();
    standard_metadata.egress_spec = meta.ig_md.neighbor_port;
  }
  action look_up() {
    bridge();
    hdr.bridge.port = meta.ig_md.neighbor_port;
    remove_lanes();
    standard_metadata.egress_spec = OWN_RECIRCULATION_PORT;
  }
  action send_generated() {
    bridge();
    hdr.generator.setInvalid();
    remove_lanes();
    standard_metadata.egress_spec = meta.ig_md.generated_port;
  }
  table deliver {
    key = {
      meta.ig_md.verdict : exact;
      meta.ig_md.filled : ternary;
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

  apply {
    if (hdr.bridge.isValid() && hdr.bridge.pass != PASS_STEERED) {
      meta.ig_md.op = hdr.bridge.pass;
    } else if (hdr.generator.isValid()) {
      meta.ig_md.op = OP_GENERATED;
    }
    if (hdr.l3dml.isValid() && !hdr.lanes_low.isValid()) {
      fill_lanes();
    }

    forwarder.apply(hdr, meta.ig_md);
    admission.apply(hdr, meta.ig_md, standard_metadata.ingress_port);
    job.apply(meta.ig_md);
    segment_receiver.apply(hdr, meta.ig_md);
    slot_state.apply(hdr, meta.ig_md);
    exponent.apply(hdr, meta.ig_md);
    next_step.apply(hdr, meta.ig_md);
    aggregator.apply(hdr, meta.ig_md);

    deliver.apply();
    if (meta.ig_md.mirror_pass != 0) {
      meta.copy_pass = meta.ig_md.mirror_pass;
      meta.copy_neighbor = meta.ig_md.neighbor;
      meta.copy_first = meta.ig_md.first_missing;
      clone_preserving_field_list(CloneType.I2E, 32w512 | (bit<32>)meta.ig_md.neighbor_port, COPY_FIELDS);
    }
  }
}

#endif  // L3DML_V1MODEL_INGRESS_P4_
