// What a slot knows of the number it holds: `stamp` (which number), `bitmap` (who was added, and bit 31: done), `count`
// (children still missing). A done entry never changes until a newer number restarts it. Twin: dataplane/blocks/slot_state.h.
//
// The trick of bitmap: an access returns one word, so the second half of the pair is made old AND seen_mask, where
// seen_mask holds the sender's bit and bit 31. A done entry looks seen to everybody, yet an UP never marks it done.
#ifndef L3DML_SLOT_STATE_P4_
#define L3DML_SLOT_STATE_P4_

struct bitmap_t {
  bit<32> bits;
  bit<32> seen;  // what the last access returned
}

control SlotState(in header_t hdr, inout ingress_metadata_t ig_md) {
  Register<bit<32>, bit<SLOT_INDEX_WIDTH>>(SLOTS, 0) stamp;
  Register<bitmap_t, bit<SLOT_INDEX_WIDTH>>(SLOTS, {0, 0}) bitmap;
  Register<bit<16>, bit<SLOT_INDEX_WIDTH>>(SLOTS, 0) count;

  // Serial comparison; only an UP or a DOWN may start an entry anew.
  RegisterAction<bit<32>, bit<SLOT_INDEX_WIDTH>, bit<8>>(stamp) start = {
    void apply(inout bit<32> value, out bit<8> relation) {
      relation = STAMP_NEWER;
      if (value == hdr.l3dml.number) {
        relation = STAMP_EQUAL;
      }
      if ((int<32>)(value - hdr.l3dml.number) < 0) {
        relation = STAMP_OLDER;
        value = hdr.l3dml.number;
      }
    }
  };
  RegisterAction<bit<32>, bit<SLOT_INDEX_WIDTH>, bit<8>>(stamp) compare = {
    void apply(inout bit<32> value, out bit<8> relation) {
      relation = STAMP_NEWER;
      if (value == hdr.l3dml.number) {
        relation = STAMP_EQUAL;
      }
      if ((int<32>)(value - hdr.l3dml.number) < 0) {
        relation = STAMP_OLDER;
      }
    }
  };
  action start_entry() {
    ig_md.relation = start.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action compare_entry() {
    ig_md.relation = compare.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  table stamps {
    key = {
      GATE_KEY
      ig_md.op : exact;
    }
    actions = {
      start_entry;
      compare_entry;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (GATE_OPEN, OP_UP) : start_entry();
      (GATE_OPEN, OP_DOWN) : start_entry();
      (GATE_OPEN, OP_PROBE) : compare_entry();
      (GATE_OPEN, PASS_FINISH) : compare_entry();
      (GATE_OPEN, PASS_FINISH_AGAIN) : compare_entry();
      (GATE_OPEN, PASS_ANSWER) : compare_entry();
      (GATE_OPEN, PASS_REPAIR) : compare_entry();
      (GATE_OPEN, PASS_REPAIR_HIGH) : compare_entry();
    }
    size = 8;
  }

  RegisterAction<bitmap_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(bitmap) restart = {
    void apply(inout bitmap_t value, out bit<32> seen) {
      value.bits = ig_md.mask;
      value.seen = 0;
      seen = value.seen;
    }
  };
  RegisterAction<bitmap_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(bitmap) add = {
    void apply(inout bitmap_t value, out bit<32> seen) {
      value.seen = value.bits & ig_md.seen_mask;
      value.bits = value.bits | ig_md.mask;
      seen = value.seen;
    }
  };
  RegisterAction<bitmap_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(bitmap) peek = {
    void apply(inout bitmap_t value, out bit<32> seen) {
      value.seen = value.bits & ig_md.seen_mask;
      seen = value.seen;
    }
  };
  RegisterAction<bitmap_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(bitmap) finish = {
    void apply(inout bitmap_t value, out bit<32> seen) {
      value.seen = value.bits & ig_md.seen_mask;
      value.bits = value.bits | DONE;
      seen = value.seen;
    }
  };
  action restart_bitmap() {
    ig_md.seen = restart.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action add_child() {
    ig_md.seen = add.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action peek_bitmap() {
    ig_md.seen = peek.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action finish_entry() {
    ig_md.seen = finish.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  table bitmaps {
    key = {
      ig_md.relation : exact;
      ig_md.op : exact;
      ig_md.role : ternary;
    }
    actions = {
      restart_bitmap;
      add_child;
      peek_bitmap;
      finish_entry;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (STAMP_OLDER, OP_UP, _) : restart_bitmap();
      (STAMP_OLDER, OP_DOWN, _) : restart_bitmap();
      (STAMP_EQUAL, OP_UP, _) : add_child();
      (STAMP_EQUAL, OP_DOWN, _) : add_child();
      (STAMP_EQUAL, OP_PROBE, _) : peek_bitmap();
      (STAMP_EQUAL, PASS_FINISH, ROLE_ROOT) : finish_entry();
      (STAMP_EQUAL, PASS_FINISH, _) : peek_bitmap();
      (STAMP_EQUAL, PASS_FINISH_AGAIN, ROLE_ROOT) : finish_entry();
      (STAMP_EQUAL, PASS_FINISH_AGAIN, _) : peek_bitmap();
      (STAMP_EQUAL, PASS_ANSWER, _) : peek_bitmap();
      (STAMP_EQUAL, PASS_REPAIR, _) : peek_bitmap();
      (STAMP_EQUAL, PASS_REPAIR_HIGH, _) : peek_bitmap();
    }
    size = 12;
  }

  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(count) first_child = {
    void apply(inout bit<16> value, out bit<16> missing) {
      value = ig_md.children - 1;
      missing = value;
    }
  };
  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(count) next_child = {
    void apply(inout bit<16> value, out bit<16> missing) {
      value = value - 1;
      missing = value;
    }
  };
  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(count) read_count = {
    void apply(inout bit<16> value, out bit<16> missing) {
      missing = value;
    }
  };
  action count_first() {
    ig_md.count = first_child.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action count_next() {
    ig_md.count = next_child.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  action count_none() {
    ig_md.count = read_count.execute(hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]);
  }
  table counts {
    key = {
      ig_md.relation : exact;
      ig_md.op : exact;
      ig_md.seen : ternary;
    }
    actions = {
      count_first;
      count_next;
      count_none;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (STAMP_OLDER, OP_UP, _) : count_first();
      (STAMP_EQUAL, OP_UP, 0) : count_next();
      (STAMP_EQUAL, OP_UP, _) : count_none();
      (STAMP_EQUAL, OP_PROBE, _) : count_none();
      (STAMP_EQUAL, PASS_REPAIR, _) : count_none();
      (STAMP_EQUAL, PASS_REPAIR_HIGH, _) : count_none();
    }
    size = 6;
  }

  apply {
    stamps.apply();
    bitmaps.apply();
    counts.apply();
  }
}

#endif  // L3DML_SLOT_STATE_P4_
