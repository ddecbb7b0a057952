// A packet becomes one receiver's: addresses, ports, child index, ring entry. First what kind of packet it is to be
// (compose), then whose (replica). Twin: dataplane/blocks/replica.h.
#ifndef L3DML_REPLICA_P4_
#define L3DML_REPLICA_P4_

control Replica(inout header_t hdr, inout egress_metadata_t eg_md, in bit<16> rid) {
  // A replica of the multicast engine names its receiver by RID; everything else is bridged or mirrored.
  action by_rid() {
    eg_md.neighbor = rid;
  }
  action count_shard() {
    eg_md.shard = hdr.udp.dst_port - UDP_PORT;
  }

  action result(bit<8> flags) {
    hdr.l3dml.type = TYPE_DOWN;
    hdr.l3dml.flags = flags;
    hdr.l3dml.tag = 0;
  }
  action result_for_one() {  // the answer has the tag of what asked
    hdr.l3dml.type = TYPE_DOWN;
    hdr.l3dml.flags = 0;
  }
  action sum(bit<8> flags) {
    hdr.l3dml.type = TYPE_UP;
    hdr.l3dml.flags = flags;
    hdr.l3dml.tag = 0;
  }
  action probe_answer(bit<16> weight) {
    hdr.l3dml.type = TYPE_PROBE;
    hdr.l3dml.flags = FLAG_DOWN;
    hdr.l3dml.exp = 0;
    hdr.l3dml.next_exp = 0;
    hdr.l3dml.weight = weight;
    hdr.l3dml.seq = 0;
    hdr.udp.length = LENGTH_WITHOUT_LANES;
    hdr.ipv6.payload_length = LENGTH_WITHOUT_LANES;
  }
  action sync() {
    hdr.l3dml.type = TYPE_SYNC;
    hdr.l3dml.tag = 0;
    hdr.l3dml.number = 0;
    hdr.l3dml.exp = 0;
    hdr.l3dml.next_exp = 0;
    hdr.l3dml.weight = 0;
    hdr.udp.length = LENGTH_WITHOUT_LANES;
    hdr.ipv6.payload_length = LENGTH_WITHOUT_LANES;
  }
  // flags tell the direction of the segment that has the hole.
  action nack(bit<8> flags) {
    hdr.l3dml.type = TYPE_NACK;
    hdr.l3dml.flags = flags;
    hdr.l3dml.tag = 0;
    hdr.l3dml.number = hdr.l3dml.seq;
    hdr.l3dml.exp = 0;
    hdr.l3dml.next_exp = 0;
    hdr.l3dml.weight = 0;
    hdr.udp.length = LENGTH_WITHOUT_LANES;
    hdr.ipv6.payload_length = LENGTH_WITHOUT_LANES;
  }
  // ECE: congestion that the packet met which completed the entry, and whose header this still is; answers have none.
  table compose {
    key = {
      eg_md.pass : ternary;
      hdr.l3dml.type : ternary;
      hdr.l3dml.flags : ternary;
      hdr.ipv6.traffic_class : ternary;
    }
    actions = {
      result;
      result_for_one;
      sum;
      probe_answer;
      sync;
      nack;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (SEND_DOWN, _, _, 3 &&& 3) : result(FLAG_ECE);
      (SEND_DOWN, _, FLAG_ECE &&& FLAG_ECE, _) : result(FLAG_ECE);
      (SEND_DOWN, _, _, _) : result(0);
      (SEND_DOWN_ONE, _, _, _) : result_for_one();
      (SEND_DOWN_REPAIR, _, _, _) : result(0);
      (SEND_UP, _, _, 3 &&& 3) : sum(FLAG_ECE);
      (SEND_UP, _, FLAG_ECE &&& FLAG_ECE, _) : sum(FLAG_ECE);
      (SEND_UP, _, _, _) : sum(0);
      (SEND_UP_AGAIN, TYPE_UP, _, 3 &&& 3) : sum(FLAG_RETX | FLAG_ECE);
      (SEND_UP_AGAIN, TYPE_UP, FLAG_ECE &&& FLAG_ECE, _) : sum(FLAG_RETX | FLAG_ECE);
      (SEND_UP_AGAIN, _, _, _) : sum(FLAG_RETX);
      (SEND_UP_REPAIR, _, _, _) : sum(FLAG_RETX);
      (SEND_MISSING, _, _, _) : probe_answer(0);
      (SEND_WAITING, _, _, _) : probe_answer(1);
      (MIRROR_WAITING &&& 0xfe, _, _, _) : probe_answer(1);
      (SEND_SYNC, _, _, _) : sync();
      (MIRROR_NACK &&& 0xfe, TYPE_DOWN, _, _) : nack(FLAG_DOWN);
      (MIRROR_NACK &&& 0xfe, TYPE_SYNC, FLAG_DOWN &&& FLAG_DOWN, _) : nack(FLAG_DOWN);
      (MIRROR_NACK &&& 0xfe, _, _, _) : nack(0);
    }
    size = 19;
  }

  // The receiver's addresses, its ring, and where this segment's seq -> number entries lie. shard_shift is for x86.
  action to_neighbor(bit<48> dmac, bit<48> smac, bit<128> dst_addr, bit<128> src_addr, bit<16> udp_src_port,
                     bit<16> udp_dst_port, bit<8> child, bit<32> slot_base, bit<32> slot_mask, bit<8> shard_shift,
                     bit<32> ring_base, bit<32> ring_mask) {
    hdr.ethernet.dst_addr = dmac;
    hdr.ethernet.src_addr = smac;
    hdr.ipv6.dst_addr = dst_addr;
    hdr.ipv6.src_addr = src_addr;
    hdr.ipv6.traffic_class = SENT_TRAFFIC_CLASS;
    hdr.ipv6.flow_label = 0;
    hdr.ipv6.hop_limit = SENT_HOP_LIMIT;
    hdr.udp.src_port = udp_src_port;
    hdr.udp.dst_port = udp_dst_port;
    hdr.udp.checksum = 0;
    hdr.l3dml.child = child;
    eg_md.slot_base = slot_base;
    eg_md.slot_mask = slot_mask;
    eg_md.ring_base = ring_base[15:0];
    eg_md.ring_mask = ring_mask[15:0];
    eg_md.known = 1;
  }
  action unknown() {
    eg_md.known = 0;
  }
  table replica {
    key = {
      eg_md.neighbor : exact @name("neighbor");
      eg_md.shard[5:0] : exact @name("shard");
    }
    actions = {
      to_neighbor;
      @defaultonly unknown;
    }
    const default_action = unknown();
    size = REPLICA_ENTRIES;
  }

  apply {
    if (rid != 0) {
      by_rid();
    }
    count_shard();
    eg_md.local_slot = hdr.l3dml.slot;
    compose.apply();
    replica.apply();
  }
}

#endif  // L3DML_REPLICA_P4_
