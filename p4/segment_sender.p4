// The sending end of a lossless segment: counts what is sent (tx_seq) and remembers which number went out under which
// seq, so that the slot itself is the retransmit buffer. A NACK is looked up here, one seq per pass: the packet goes on
// as a repair, a copy stands for the rest of the range. Twin: dataplane/blocks/segment_sender.h.
#ifndef L3DML_SEGMENT_SENDER_P4_
#define L3DML_SEGMENT_SENDER_P4_

control SegmentSender(inout header_t hdr, inout egress_metadata_t eg_md) {
  Register<bit<32>, bit<NEIGHBOR_INDEX_WIDTH>>(NEIGHBORS, 0) tx_seq;
  Register<bit<32>, bit<RING_INDEX_WIDTH>>(RING_ENTRIES, 0) ring;
  Register<bit<32>, bit<RING_INDEX_WIDTH>>(RING_ENTRIES, 0) ring_slot;  // our own entry of that number

  RegisterAction<bit<32>, bit<NEIGHBOR_INDEX_WIDTH>, bit<32>>(tx_seq) next = {
    void apply(inout bit<32> value, out bit<32> seq) {
      seq = value;
      value = value + 1;
    }
  };
  RegisterAction<bit<32>, bit<NEIGHBOR_INDEX_WIDTH>, bit<32>>(tx_seq) read = {
    void apply(inout bit<32> value, out bit<32> seq) {
      seq = value;
    }
  };
  RegisterAction<bit<32>, bit<NEIGHBOR_INDEX_WIDTH>, bit<8>>(tx_seq) reach = {
    void apply(inout bit<32> value, out bit<8> in_reach) {
      in_reach = 0;
      if ((int<32>)(value - eg_md.first) > 0 && (int<32>)(value - eg_md.first) <= NACK_REACH) {
        in_reach = 1;
      }
    }
  };
  action take_seq() {
    eg_md.seq = next.execute((bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor);
  }
  action read_seq() {
    eg_md.seq = read.execute((bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor);
  }
  action check_reach() {
    eg_md.in_reach = reach.execute((bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor);
    eg_md.seq = eg_md.first;
  }
  action nack_seq() {
    eg_md.seq = eg_md.first;
  }
  table sequence {
    key = {
      eg_md.pass : exact;
    }
    actions = {
      take_seq;
      read_seq;
      check_reach;
      nack_seq;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      SEND_DOWN : take_seq();
      SEND_DOWN_ONE : take_seq();
      SEND_DOWN_AGAIN : take_seq();
      SEND_UP : take_seq();
      SEND_UP_AGAIN : take_seq();
      SEND_SYNC : read_seq();
      LOOK_UP : check_reach();
      MIRROR_NACK : nack_seq();
      MIRROR_NACK_STEERED : nack_seq();
    }
    size = 9;
  }
  action mask_index() {
    eg_md.ring_index = eg_md.seq[15:0] & eg_md.ring_mask;
  }
  action place_index() {
    eg_md.ring_index = eg_md.ring_index | eg_md.ring_base;
  }

  RegisterAction<bit<32>, bit<RING_INDEX_WIDTH>, bit<32>>(ring) remember_number = {
    void apply(inout bit<32> value) {
      value = hdr.l3dml.number;
    }
  };
  RegisterAction<bit<32>, bit<RING_INDEX_WIDTH>, bit<32>>(ring) recall_number = {
    void apply(inout bit<32> value, out bit<32> number) {
      number = value;
    }
  };
  RegisterAction<bit<32>, bit<RING_INDEX_WIDTH>, bit<32>>(ring_slot) remember_slot = {
    void apply(inout bit<32> value) {
      value = eg_md.local_slot;
    }
  };
  RegisterAction<bit<32>, bit<RING_INDEX_WIDTH>, bit<32>>(ring_slot) recall_slot = {
    void apply(inout bit<32> value, out bit<32> slot) {
      slot = value;
    }
  };
  action put_number() {
    remember_number.execute(eg_md.ring_index);
  }
  action get_number() {
    hdr.l3dml.number = recall_number.execute(eg_md.ring_index);
  }
  action put_slot() {
    remember_slot.execute(eg_md.ring_index);
  }
  action get_slot() {
    hdr.l3dml.slot = recall_slot.execute(eg_md.ring_index);
  }
  table numbers {
    key = {
      eg_md.pass : exact;
    }
    actions = {
      put_number;
      get_number;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      SEND_DOWN : put_number();
      SEND_DOWN_ONE : put_number();
      SEND_DOWN_AGAIN : put_number();
      SEND_UP : put_number();
      SEND_UP_AGAIN : put_number();
      LOOK_UP : get_number();
    }
    size = 6;
  }
  table slots {
    key = {
      eg_md.pass : exact;
    }
    actions = {
      put_slot;
      get_slot;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      SEND_DOWN : put_slot();
      SEND_DOWN_ONE : put_slot();
      SEND_DOWN_AGAIN : put_slot();
      SEND_UP : put_slot();
      SEND_UP_AGAIN : put_slot();
      LOOK_UP : get_slot();
    }
    size = 6;
  }

  // first + 1 in two halves: the 32-bit containers belong to the lanes.
  action step_low() {
    eg_md.rest_low = eg_md.first[15:0] + 1;
    eg_md.rest_high = eg_md.first[31:16];
  }
  action step_high() {
    eg_md.rest_low = 0;
    eg_md.rest_high = eg_md.first[31:16] + 1;
  }
  action set_seq() {
    hdr.l3dml.seq = eg_md.seq;
  }
  action repair() {
    hdr.bridge.pass = PASS_REPAIR;
  }
  action refuse() {
    hdr.bridge.pass = PASS_REFUSED;
  }
  action look_up_rest() {
    eg_md.mirror_pass = MIRROR_LOOK_UP;
  }

  apply {
    sequence.apply();
    mask_index();
    place_index();
    numbers.apply();
    slots.apply();
    if (eg_md.pass == LOOK_UP) {
      if (eg_md.first[15:0] == 0xffff) {
        step_high();
      } else {
        step_low();
      }
      if (eg_md.in_reach == 1 && eg_md.first != eg_md.end) {
        repair();
        if (eg_md.rest_low != eg_md.end[15:0] || eg_md.rest_high != eg_md.end[31:16]) {
          look_up_rest();
        }
      } else {
        refuse();
      }
    } else {
      set_seq();
    }
  }
}

#endif  // L3DML_SEGMENT_SENDER_P4_
