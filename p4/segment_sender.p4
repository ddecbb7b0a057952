// The sending end of a lossless segment: counts what is sent (tx_seq) and remembers which number went out under which
// seq, so that the slot itself is the retransmit buffer. A NACK is looked up here, one seq per pass: the packet goes on
// as a repair, a copy stands for the rest of the range. Twin: dataplane/blocks/segment_sender.h.
#ifndef L3DML_SEGMENT_SENDER_P4_
#define L3DML_SEGMENT_SENDER_P4_

control SegmentSender(inout header_t hdr, inout egress_metadata_t eg_md) {
  REGISTER(32, NEIGHBOR_INDEX_WIDTH, NEIGHBORS, tx_seq)
  REGISTER(32, RING_INDEX_WIDTH, RING_ENTRIES, ring)
  REGISTER(32, RING_INDEX_WIDTH, RING_ENTRIES, ring_slot)  // our own entry of that number
  COUNTER(NEIGHBOR_INDEX_WIDTH, NEIGHBORS, repairs)

  ACCESS(tx_seq, bit<32>, NEIGHBOR_INDEX_WIDTH, 32, next, {
    result = value;
    value = value + 1;
  })
  ACCESS(tx_seq, bit<32>, NEIGHBOR_INDEX_WIDTH, 32, read, {
    result = value;
  })
  ACCESS(tx_seq, bit<32>, NEIGHBOR_INDEX_WIDTH, 8, reach, {
    result = 0;
    if ((int<32>)(value - eg_md.end) >= 0 && (int<32>)(value - eg_md.first) <= NACK_REACH) {
      result = 1;
    }
  })
  action take_seq() {
    EXECUTE(eg_md.seq, next, tx_seq, bit<32>, 32, (bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor)
  }
  action take_seq_of_repair() {
    take_seq();
    COUNT(repairs, NEIGHBOR_INDEX_WIDTH, eg_md.neighbor)
  }
  action read_seq() {
    EXECUTE(eg_md.seq, read, tx_seq, bit<32>, 32, (bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor)
  }
  action check_reach() {
    EXECUTE(eg_md.in_reach, reach, tx_seq, bit<32>, 8, (bit<NEIGHBOR_INDEX_WIDTH>)eg_md.neighbor)
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
      take_seq_of_repair;
      read_seq;
      check_reach;
      nack_seq;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      SEND_DOWN : take_seq();
      SEND_DOWN_ONE : take_seq();
      SEND_DOWN_REPAIR : take_seq_of_repair();
      SEND_UP : take_seq();
      SEND_UP_AGAIN : take_seq();
      SEND_UP_REPAIR : take_seq_of_repair();
      SEND_SYNC : read_seq();
      LOOK_UP : check_reach();
      MIRROR_NACK : nack_seq();
      MIRROR_NACK_STEERED : nack_seq();
    }
    size = 10;
  }
  action mask_index() {
    eg_md.ring_index = eg_md.seq[15:0] & eg_md.ring_mask;
  }
  action place_index() {
    eg_md.ring_index = eg_md.ring_index | eg_md.ring_base;
  }

  STORE(ring, bit<32>, RING_INDEX_WIDTH, remember_number, {
    value = hdr.l3dml.number;
  })
  ACCESS(ring, bit<32>, RING_INDEX_WIDTH, 32, recall_number, {
    result = value;
  })
  action put_number() {
    EXECUTE_STORE(remember_number, ring, bit<32>, eg_md.ring_index)
  }
  action get_number() {
    EXECUTE(hdr.l3dml.number, recall_number, ring, bit<32>, 32, eg_md.ring_index)
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
      SEND_DOWN_REPAIR : put_number();
      SEND_UP : put_number();
      SEND_UP_AGAIN : put_number();
      SEND_UP_REPAIR : put_number();
      LOOK_UP : get_number();
    }
    size = 7;
  }
  STORE(ring_slot, bit<32>, RING_INDEX_WIDTH, remember_slot, {
    value = eg_md.local_slot;
  })
  ACCESS(ring_slot, bit<32>, RING_INDEX_WIDTH, 32, recall_slot, {
    result = value;
  })
  action put_slot() {
    EXECUTE_STORE(remember_slot, ring_slot, bit<32>, eg_md.ring_index)
  }
  action get_slot() {
    EXECUTE(hdr.l3dml.slot, recall_slot, ring_slot, bit<32>, 32, eg_md.ring_index)
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
      SEND_DOWN_REPAIR : put_slot();
      SEND_UP : put_slot();
      SEND_UP_AGAIN : put_slot();
      SEND_UP_REPAIR : put_slot();
      LOOK_UP : get_slot();
    }
    size = 7;
  }

  // slot = slot_base | (x AND slot_mask). x is our own slot of the number, whose low bits are those of the receiver's, as the
  // rings of a job are aligned and ours is not the smaller one. NACK and SYNC speak of no number: x is what their field holds.
  action from_number() {
    eg_md.slot = hdr.l3dml.number;
  }
  action from_slot() {
    eg_md.slot = eg_md.local_slot;
  }
  table slot_source {
    key = {
      hdr.l3dml.type : exact;
    }
    actions = {
      from_number;
      from_slot;
    }
    const default_action = from_slot();
    const entries = {
      TYPE_NACK : from_number();
      TYPE_SYNC : from_number();
    }
    size = 2;
  }
  action mask_slot() {
    eg_md.slot = eg_md.slot & eg_md.slot_mask;
  }
  action set_slot() {
    hdr.l3dml.slot = eg_md.slot | eg_md.slot_base;
  }

  // 16-bit arithmetic, since the 32-bit containers belong to the lanes: how many are missing, and first + 1 in halves.
  action measure() {
    eg_md.span = eg_md.end[15:0] - eg_md.first[15:0];
  }
  action step_low() {
    eg_md.rest_low = eg_md.first[15:0] + 1;
    eg_md.rest_high = eg_md.first[31:16];
  }
  action step_high() {
    eg_md.rest_low = 0;
    eg_md.rest_high = eg_md.first[31:16] + 1;
  }
  // The repair pass sends to the same neighbour and shard.
  action keep_shard() {
    hdr.udp.dst_port = eg_md.shard + UDP_PORT;
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
    slot_source.apply();
    mask_slot();
    if (eg_md.pass == LOOK_UP) {
      keep_shard();
      if (eg_md.first[15:0] == 0xffff) {
        step_high();
      } else {
        step_low();
      }
      measure();
      if (eg_md.in_reach == 1 && eg_md.span[15:8] == 0 && eg_md.span != 0) {
        repair();
        if (eg_md.span != 1) {
          look_up_rest();
        }
      } else {
        refuse();
      }
    } else {
      set_slot();
      set_seq();
    }
  }
}

#endif  // L3DML_SEGMENT_SENDER_P4_
