// Where a packet goes that is not ours to sum, and which destinations are: an aggregation address of this switch is an
// exact entry whose action is aggregate(). Longest prefix otherwise. Depends on nothing, so the chip looks it up beside
// admission. Twin: dataplane/blocks/forwarder.h.
#ifndef L3DML_FORWARDER_P4_
#define L3DML_FORWARDER_P4_

control Forwarder(inout header_t hdr, inout ingress_metadata_t ig_md) {
  // The next hop's address; the frame was addressed to us, so its destination is our own address.
  action forward(bit<9> port, bit<48> dmac) {
    ig_md.out_port = port;
    ig_md.routed = 1;
    hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
    hdr.ethernet.dst_addr = dmac;
  }
  // To the switch's own processor: it answers for its addresses, resolves neighbours and reports errors.
  action local() {
    ig_md.out_port = CPU_PORT;
  }
  action aggregate() {
    ig_md.ours = 1;
  }
  action drop() {
    ig_md.no_route = 1;
  }

  table local6 {
    key = {
      hdr.ipv6.dst_addr : exact;
    }
    actions = {
      local;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = LOCAL6_ENTRIES;
  }
  table host6 {
    key = {
      hdr.ipv6.dst_addr : exact;
    }
    actions = {
      forward;
      aggregate;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = HOST6_ENTRIES;
  }
  table prefix6 {
    key = {
      hdr.ipv6.dst_addr : lpm;
    }
    actions = {
      forward;
      local;
      drop;
    }
    default_action = drop();
    size = PREFIX6_ENTRIES;
  }
  table local4 {
    key = {
      hdr.ipv4.dst_addr : exact;
    }
    actions = {
      local;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = LOCAL4_ENTRIES;
  }
  table host4 {
    key = {
      hdr.ipv4.dst_addr : exact;
    }
    actions = {
      forward;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = HOST4_ENTRIES;
  }
  table prefix4 {
    key = {
      hdr.ipv4.dst_addr : lpm;
    }
    actions = {
      forward;
      local;
      drop;
    }
    default_action = drop();
    size = PREFIX4_ENTRIES;
  }

  action count_hop6() {
    hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
  }
  action count_hop4() {
    hdr.ipv4.hop_limit = hdr.ipv4.hop_limit - 1;
  }
  // At its last hop a packet goes to the processor, which answers with an error. The header that is not there has
  // a hop limit of any value.
  table hops {
    key = {
      ig_md.routed : exact;
      hdr.ipv6.isValid() : exact @name("ipv6");
      hdr.ipv6.hop_limit : ternary;
      hdr.ipv4.hop_limit : ternary;
    }
    actions = {
      count_hop6;
      count_hop4;
      local;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (1, true, 0 &&& 0xfe, _) : local();
      (1, true, _, _) : count_hop6();
      (1, false, _, 0 &&& 0xfe) : local();
      (1, false, _, _) : count_hop4();
    }
    size = 4;
  }

  apply {
    if (hdr.ipv6.isValid()) {
      if (!host6.apply().hit) {  // first: whether the packet is ours gates the first register
        if (!local6.apply().hit) {
          prefix6.apply();
        }
      }
    } else if (hdr.ipv4.isValid()) {
      if (!local4.apply().hit) {
        if (!host4.apply().hit) {
          prefix4.apply();
        }
      }
    } else {
      local();
    }
    hops.apply();
  }
}

#endif  // L3DML_FORWARDER_P4_
