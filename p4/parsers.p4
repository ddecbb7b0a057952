// The parser of a frame behind whatever the switch put in front of it; shared by all targets.
// It refuses here what needs no table: a complaint (ig_md.reason) counts only if the frame turns out to be sent to an
// aggregation address of this switch; anything else is forwarded as it came.
#ifndef L3DML_PARSERS_P4_
#define L3DML_PARSERS_P4_

parser FrameParser(packet_in packet, inout header_t hdr, inout ingress_metadata_t ig_md) {
  state start {
    packet.extract(hdr.ethernet);
    transition select(hdr.ethernet.ether_type) {
      ETHER_TYPE_IPV6: ipv6_version;
      ETHER_TYPE_IPV4: ipv4_version;
      default: accept;
    }
  }
  // With options the header checksum would need more than we hold: left to the switch's own processor.
  state ipv4_version {
    transition select(packet.lookahead<bit<8>>()) {
      0x45: ipv4;
      default: accept;
    }
  }
  state ipv4 {
    packet.extract(hdr.ipv4);
    transition accept;
  }
  state ipv6_version {
    transition select(packet.lookahead<bit<4>>()) {
      6: ipv6;
      default: accept;
    }
  }
  state ipv6 {
    packet.extract(hdr.ipv6);
    transition select(hdr.ipv6.next_header) {
      PROTOCOL_UDP: udp;
      default: not_l3dml;
    }
  }
  // 64 destination ports from 19507 on, as aligned blocks.
  state udp {
    packet.extract(hdr.udp);
    transition select(hdr.udp.dst_port) {
      0x4c33: l3dml;
      0x4c34 &&& 0xfffc: l3dml;
      0x4c38 &&& 0xfff8: l3dml;
      0x4c40 &&& 0xffe0: l3dml;
      0x4c60 &&& 0xfff0: l3dml;
      0x4c70 &&& 0xfffe: l3dml;
      0x4c72: l3dml;
      default: not_l3dml;
    }
  }
  // Which flags go with which type, and which length. NACK and PROBE carry lanes in their later passes only: they are
  // extracted, but a first pass has no op for such a packet, as for any other wrong number of lanes.
  state l3dml {
    packet.extract(hdr.l3dml);
    transition select(hdr.l3dml.version, hdr.l3dml.type, hdr.l3dml.flags, hdr.udp.length) {
      (_, _, _, 1 &&& 1): bad_udp_length;
      (_, _, _, 2 &&& 2): bad_udp_length;
      (L3DML_VERSION, TYPE_UP, 0 &&& 0xf6, LENGTH_WITH_LANES): up;
      (L3DML_VERSION, TYPE_UP, 0 &&& 0xf6, LENGTH_WITHOUT_LANES): up_without_lanes;
      (L3DML_VERSION, TYPE_UP, 0 &&& 0xf6, _): accept;
      (L3DML_VERSION, TYPE_DOWN, 0 &&& 0xf7, LENGTH_WITH_LANES): down;
      (L3DML_VERSION, TYPE_DOWN, 0 &&& 0xf7, _): accept;
      (L3DML_VERSION, TYPE_NACK, 0 &&& 0xfb, LENGTH_WITHOUT_LANES): nack;
      (L3DML_VERSION, TYPE_NACK, 0 &&& 0xfb, LENGTH_WITH_LANES): lanes;
      (L3DML_VERSION, TYPE_NACK, 0 &&& 0xfb, _): accept;
      (L3DML_VERSION, TYPE_SYNC, 0 &&& 0xfb, LENGTH_WITHOUT_LANES): sync;
      (L3DML_VERSION, TYPE_SYNC, 0 &&& 0xfb, _): accept;
      (L3DML_VERSION, TYPE_PROBE, 0, LENGTH_WITHOUT_LANES): probe;
      (L3DML_VERSION, TYPE_PROBE, 0, LENGTH_WITH_LANES): lanes;
      (L3DML_VERSION, TYPE_PROBE, 0, _): accept;
      (L3DML_VERSION, TYPE_RECIRCULATED, _, _): recirculated_type;
      (L3DML_VERSION, TYPE_UP, _, _): unknown_flag;
      (L3DML_VERSION, TYPE_DOWN, _, _): unknown_flag;
      (L3DML_VERSION, TYPE_NACK, _, _): unknown_flag;
      (L3DML_VERSION, TYPE_SYNC, _, _): unknown_flag;
      (L3DML_VERSION, TYPE_PROBE, _, _): unknown_flag;
      (L3DML_VERSION, _, _, _): unknown_type;
      default: unknown_version;
    }
  }
  state up {
    ig_md.op = OP_UP;
    transition lanes;
  }
  state down {
    ig_md.op = OP_DOWN;
    ig_md.mask = DONE;  // the parent's bit
    transition lanes;
  }
  state lanes {
    packet.extract(hdr.lanes_low);
    packet.extract(hdr.lanes_high);
    transition accept;
  }
  state up_without_lanes {
    ig_md.op = OP_UP;
    transition accept;
  }
  state nack {
    ig_md.op = OP_NACK;
    transition accept;
  }
  state sync {
    ig_md.op = OP_SYNC;
    transition accept;
  }
  state probe {
    ig_md.op = OP_PROBE;
    transition accept;
  }
  state not_l3dml {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_NOT_L3DML;
    transition accept;
  }
  state bad_udp_length {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_BAD_UDP_LENGTH;
    transition accept;
  }
  state recirculated_type {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_RECIRCULATED_TYPE;
    transition accept;
  }
  state unknown_flag {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_UNKNOWN_FLAG;
    transition accept;
  }
  state unknown_type {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_UNKNOWN_TYPE;
    transition accept;
  }
  state unknown_version {
    ig_md.op = OP_MALFORMED;
    ig_md.reason = REASON_UNKNOWN_VERSION;
    transition accept;
  }
}

#endif  // L3DML_PARSERS_P4_
