// The block exponent of a slot's lanes and the largest exponent wanted for a later chunk. exps.exp is the first packet's;
// another one makes exp_max 255 (the chunk is repeated). Every access is idempotent, so no test for duplicates is
// needed and the block runs beside bitmap. One word comes back per pass: exp_max first, exp in the pass that reads the
// other lanes. Twin: dataplane/blocks/exponent.h.
#ifndef L3DML_EXPONENT_P4_
#define L3DML_EXPONENT_P4_

struct exps_t {
  bit<8> exp;
  bit<8> exp_max;
}

control Exponent(inout header_t hdr, inout ingress_metadata_t ig_md) {
  REGISTER_PAIR(exps_t, 8, exp, exp_max, SLOT_INDEX_WIDTH, SLOTS, exps)

  ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, set, {
    value.exp = hdr.l3dml.exp;
    value.exp_max = hdr.l3dml.next_exp;
    result = value.exp_max;
  })
  ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, merge, {
    if (value.exp != hdr.l3dml.exp) {
      value.exp_max = 255;
    } else if (value.exp_max < hdr.l3dml.next_exp) {
      value.exp_max = hdr.l3dml.next_exp;
    }
    result = value.exp_max;
  })
  ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, read_max, {
    result = value.exp_max;
  })
  ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, read_exp, {
    result = value.exp;
  })
  action set_exps() {
    EXECUTE_PAIR(hdr.l3dml.next_exp, set, exps, exps_t, 8, SLOT, exp, exp_max)
  }
  action merge_exps() {
    EXECUTE_PAIR(hdr.l3dml.next_exp, merge, exps, exps_t, 8, SLOT, exp, exp_max)
  }
  action get_exp_max() {
    EXECUTE_PAIR(hdr.l3dml.next_exp, read_max, exps, exps_t, 8, SLOT, exp, exp_max)
  }
  action get_exp() {
    EXECUTE_PAIR(hdr.l3dml.exp, read_exp, exps, exps_t, 8, SLOT, exp, exp_max)
  }
  table exponents {
    key = {
      ig_md.relation : exact;
      ig_md.op : exact;
    }
    actions = {
      set_exps;
      merge_exps;
      get_exp_max;
      get_exp;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (STAMP_OLDER, OP_UP) : set_exps();
      (STAMP_OLDER, OP_DOWN) : set_exps();
      (STAMP_EQUAL, OP_UP) : merge_exps();
      (STAMP_EQUAL, OP_DOWN) : set_exps();
      (STAMP_EQUAL, OP_PROBE) : get_exp_max();
      (STAMP_EQUAL, PASS_REPAIR) : get_exp_max();
      (STAMP_EQUAL, PASS_FINISH) : get_exp();
      (STAMP_EQUAL, PASS_FINISH_AGAIN) : get_exp();
      (STAMP_EQUAL, PASS_ANSWER) : get_exp();
      (STAMP_EQUAL, PASS_REPAIR_HIGH) : get_exp();
    }
    size = 10;
  }

  apply {
    exponents.apply();
  }
}

#endif  // L3DML_EXPONENT_P4_
