// The receiving end of a lossless segment: `expected` is the next seq; a jump is a hole and makes us send a NACK at once,
// with both its ends, as a copy of the packet that showed it. Twin: dataplane/blocks/segment_receiver.h.
#ifndef L3DML_SEGMENT_RECEIVER_P4_
#define L3DML_SEGMENT_RECEIVER_P4_

control SegmentReceiver(in header_t hdr, inout ingress_metadata_t ig_md) {
  REGISTER(32, NEIGHBOR_INDEX_WIDTH, NEIGHBORS, expected)
  COUNTER(NEIGHBOR_INDEX_WIDTH, NEIGHBORS, missing)  // holes (x86: packets in them)

  // Both return the first missing seq, or the packet's own where nothing is missing (also for one that comes late).
  ACCESS(expected, bit<32>, NEIGHBOR_INDEX_WIDTH, 32, receive, {
    if ((int<32>)(value - hdr.l3dml.seq) < 0) {
      result = value;
    } else {
      result = hdr.l3dml.seq;
    }
    if ((int<32>)(value - hdr.l3dml.seq) <= 0) {
      value = hdr.l3dml.seq + 1;
    }
  })
  ACCESS(expected, bit<32>, NEIGHBOR_INDEX_WIDTH, 32, synchronise, {
    if ((int<32>)(value - hdr.l3dml.seq) < 0) {
      result = value;
      value = hdr.l3dml.seq;
    } else {
      result = hdr.l3dml.seq;
    }
  })

  action watch() {
    ig_md.watched = 1;
    EXECUTE(ig_md.first_missing, receive, expected, bit<32>, 32, (bit<NEIGHBOR_INDEX_WIDTH>)ig_md.neighbor)
  }
  action catch_up() {
    ig_md.watched = 1;
    EXECUTE(ig_md.first_missing, synchronise, expected, bit<32>, 32, (bit<NEIGHBOR_INDEX_WIDTH>)ig_md.neighbor)
  }
  table segment {
    key = {
      GATE_KEY
      ig_md.op : ternary;
    }
    actions = {
      watch;
      catch_up;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (GATE_OPEN, OP_UP) : watch();
      (GATE_OPEN, OP_DOWN) : watch();
      (GATE_OPEN, OP_SYNC) : catch_up();
    }
    size = 3;
  }

  action nack(bit<8> mirror_pass) {
    ig_md.mirror_pass = mirror_pass;
    COUNT(missing, NEIGHBOR_INDEX_WIDTH, ig_md.neighbor)
  }
  table nacks {
    key = {
      hdr.bridge.isValid() : exact @name("recirculated");
    }
    actions = {
      nack;
    }
    const default_action = nack(MIRROR_NACK);
    const entries = {
      (true) : nack(MIRROR_NACK_STEERED);
    }
    size = 1;
  }

  apply {
    segment.apply();
    if (ig_md.watched == 1 && ig_md.first_missing != hdr.l3dml.seq) {
      nacks.apply();
    }
  }
}

#endif  // L3DML_SEGMENT_RECEIVER_P4_
