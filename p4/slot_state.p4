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
  REGISTER(32, SLOT_INDEX_WIDTH, SLOTS, stamp)
  REGISTER_PAIR(bitmap_t, 32, bits, seen, SLOT_INDEX_WIDTH, SLOTS, bitmap)
  REGISTER(16, SLOT_INDEX_WIDTH, SLOTS, count)

  // Serial comparison; only an UP or a DOWN may start an entry anew. An access assigns a result once on each path; only a
  // zero may be overwritten, since the chip ORs what is assigned.
  ACCESS(stamp, bit<32>, SLOT_INDEX_WIDTH, 8, start, {
    result = STAMP_NEWER;
    if ((int<32>)(value - hdr.l3dml.number) < 0) {
      result = STAMP_OLDER;
      value = hdr.l3dml.number;
    } else if (value == hdr.l3dml.number) {
      result = STAMP_EQUAL;
    }
  })
  ACCESS(stamp, bit<32>, SLOT_INDEX_WIDTH, 8, compare, {
    result = STAMP_NEWER;
    if ((int<32>)(value - hdr.l3dml.number) < 0) {
      result = STAMP_OLDER;
    } else if (value == hdr.l3dml.number) {
      result = STAMP_EQUAL;
    }
  })
  action start_entry() {
    EXECUTE(ig_md.relation, start, stamp, bit<32>, 8, SLOT)
  }
  action compare_entry() {
    EXECUTE(ig_md.relation, compare, stamp, bit<32>, 8, SLOT)
  }
  table stamps {
    key = {
      GATE_KEY
      ig_md.op : ternary;
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
      (GATE_ANY, PASS_REPAIR) : compare_entry();
      (GATE_ANY, PASS_REPAIR_HIGH) : compare_entry();
    }
    size = 8;
  }

  ACCESS(bitmap, bitmap_t, SLOT_INDEX_WIDTH, 32, restart, {
    value.bits = ig_md.mask;
    value.seen = 0;
    result = value.seen;
  })
  ACCESS(bitmap, bitmap_t, SLOT_INDEX_WIDTH, 32, add, {
    value.seen = value.bits & ig_md.seen_mask;
    value.bits = value.bits | ig_md.mask;
    result = value.seen;
  })
  ACCESS(bitmap, bitmap_t, SLOT_INDEX_WIDTH, 32, peek, {
    value.seen = value.bits & ig_md.seen_mask;
    result = value.seen;
  })
  ACCESS(bitmap, bitmap_t, SLOT_INDEX_WIDTH, 32, finish, {
    value.seen = value.bits & ig_md.seen_mask;
    value.bits = value.bits | DONE;
    result = value.seen;
  })
  action restart_bitmap() {
    EXECUTE_PAIR(ig_md.seen, restart, bitmap, bitmap_t, 32, SLOT, bits, seen)
  }
  action add_child() {
    EXECUTE_PAIR(ig_md.seen, add, bitmap, bitmap_t, 32, SLOT, bits, seen)
  }
  action peek_bitmap() {
    EXECUTE_PAIR(ig_md.seen, peek, bitmap, bitmap_t, 32, SLOT, bits, seen)
  }
  action finish_entry() {
    EXECUTE_PAIR(ig_md.seen, finish, bitmap, bitmap_t, 32, SLOT, bits, seen)
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

  ACCESS(count, bit<16>, SLOT_INDEX_WIDTH, 16, first_child, {
    value = ig_md.children - 1;
    result = value;
  })
  ACCESS(count, bit<16>, SLOT_INDEX_WIDTH, 16, next_child, {
    value = value - 1;
    result = value;
  })
  ACCESS(count, bit<16>, SLOT_INDEX_WIDTH, 16, read_count, {
    result = value;
  })
  action count_first() {
    EXECUTE(ig_md.count, first_child, count, bit<16>, 16, SLOT)
  }
  action count_next() {
    EXECUTE(ig_md.count, next_child, count, bit<16>, 16, SLOT)
  }
  action count_none() {
    EXECUTE(ig_md.count, read_count, count, bit<16>, 16, SLOT)
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
