// The sums. lanesKK holds lane KK (first) and lane 32 + KK (second) of every slot: a stateful ALU adds both in one pass but
// returns one word, so a sum leaves in two passes, low lanes first. weight: how many workers' lanes are summed.
// Tables are keyed on what the slot's stamp and bitmap said and on what the pass is about. Twin: dataplane/blocks/aggregator.h.
#ifndef L3DML_AGGREGATOR_P4_
#define L3DML_AGGREGATOR_P4_

struct lane_pair_t {
  bit<32> first;
  bit<32> second;
}

#define SLOT hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]

#define LANE(KK)                                                                                        \
  Register<lane_pair_t, bit<SLOT_INDEX_WIDTH>>(SLOTS, {0, 0}) lanes##KK;                                \
  RegisterAction<lane_pair_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(lanes##KK) set##KK = {                    \
    void apply(inout lane_pair_t value, out bit<32> sum) {                                              \
      value.first = hdr.lanes_low.d##KK;                                                                \
      value.second = hdr.lanes_high.d##KK;                                                              \
      sum = value.first;                                                                                \
    }                                                                                                   \
  };                                                                                                    \
  RegisterAction<lane_pair_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(lanes##KK) add##KK = {                    \
    void apply(inout lane_pair_t value, out bit<32> sum) {                                              \
      value.first = value.first + hdr.lanes_low.d##KK;                                                  \
      value.second = value.second + hdr.lanes_high.d##KK;                                               \
      sum = value.first;                                                                                \
    }                                                                                                   \
  };                                                                                                    \
  RegisterAction<lane_pair_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(lanes##KK) low##KK = {                    \
    void apply(inout lane_pair_t value, out bit<32> sum) {                                              \
      sum = value.first;                                                                                \
    }                                                                                                   \
  };                                                                                                    \
  RegisterAction<lane_pair_t, bit<SLOT_INDEX_WIDTH>, bit<32>>(lanes##KK) high##KK = {                   \
    void apply(inout lane_pair_t value, out bit<32> sum) {                                              \
      sum = value.second;                                                                               \
    }                                                                                                   \
  };                                                                                                    \
  action set_lanes##KK() {                                                                              \
    hdr.lanes_low.d##KK = set##KK.execute(SLOT);                                                        \
  }                                                                                                     \
  action add_lanes##KK() {                                                                              \
    hdr.lanes_low.d##KK = add##KK.execute(SLOT);                                                        \
  }                                                                                                     \
  action get_low##KK() {                                                                                \
    hdr.lanes_low.d##KK = low##KK.execute(SLOT);                                                        \
  }                                                                                                     \
  action get_high##KK() {                                                                               \
    hdr.lanes_high.d##KK = high##KK.execute(SLOT);                                                      \
  }                                                                                                     \
  table sum##KK {                                                                                       \
    key = {                                                                                             \
      ig_md.relation : ternary;                                                                         \
      ig_md.op : ternary;                                                                               \
      ig_md.seen : ternary;                                                                             \
    }                                                                                                   \
    actions = {                                                                                         \
      set_lanes##KK;                                                                                    \
      add_lanes##KK;                                                                                    \
      get_low##KK;                                                                                      \
      get_high##KK;                                                                                     \
      @defaultonly NoAction;                                                                            \
    }                                                                                                   \
    const default_action = NoAction();                                                                  \
    const entries = {                                                                                   \
      (STAMP_OLDER, OP_UP, _) : set_lanes##KK();                                                        \
      (STAMP_OLDER, OP_DOWN, _) : set_lanes##KK();                                                      \
      (STAMP_EQUAL, OP_UP, 0) : add_lanes##KK();                                                        \
      (STAMP_EQUAL, OP_DOWN, 0) : set_lanes##KK();                                                      \
      (STAMP_EQUAL, OP_UP, _) : get_low##KK();                                                          \
      (STAMP_EQUAL, OP_PROBE, _) : get_low##KK();                                                       \
      (STAMP_EQUAL, PASS_REPAIR, _) : get_low##KK();                                                    \
      (STAMP_EQUAL, PASS_FINISH, _) : get_high##KK();                                                   \
      (STAMP_EQUAL, PASS_FINISH_AGAIN, _) : get_high##KK();                                             \
      (STAMP_EQUAL, PASS_ANSWER, _) : get_high##KK();                                                   \
      (STAMP_EQUAL, PASS_REPAIR_HIGH, _) : get_high##KK();                                              \
    }                                                                                                   \
    size = 11;                                                                                          \
  }

control Aggregator(inout header_t hdr, inout ingress_metadata_t ig_md) {
  Register<bit<16>, bit<SLOT_INDEX_WIDTH>>(SLOTS, 0) weight;

  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(weight) set_weight = {
    void apply(inout bit<16> value, out bit<16> sum) {
      value = hdr.l3dml.weight;
      sum = value;
    }
  };
  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(weight) add_weight = {
    void apply(inout bit<16> value, out bit<16> sum) {
      value = value + hdr.l3dml.weight;
      sum = value;
    }
  };
  RegisterAction<bit<16>, bit<SLOT_INDEX_WIDTH>, bit<16>>(weight) read_weight = {
    void apply(inout bit<16> value, out bit<16> sum) {
      sum = value;
    }
  };
  action first_weight() {
    hdr.l3dml.weight = set_weight.execute(SLOT);
  }
  action more_weight() {
    hdr.l3dml.weight = add_weight.execute(SLOT);
  }
  action get_weight() {
    hdr.l3dml.weight = read_weight.execute(SLOT);
  }
  table weights {
    key = {
      ig_md.relation : ternary;
      ig_md.op : ternary;
      ig_md.seen : ternary;
    }
    actions = {
      first_weight;
      more_weight;
      get_weight;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (STAMP_OLDER, OP_UP, _) : first_weight();
      (STAMP_OLDER, OP_DOWN, _) : first_weight();
      (STAMP_EQUAL, OP_UP, 0) : more_weight();
      (STAMP_EQUAL, OP_DOWN, 0) : first_weight();
      (STAMP_EQUAL, OP_UP, _) : get_weight();
      (STAMP_EQUAL, OP_PROBE, _) : get_weight();
      (STAMP_EQUAL, PASS_REPAIR, _) : get_weight();
    }
    size = 7;
  }

  LANE(00) LANE(01) LANE(02) LANE(03) LANE(04) LANE(05) LANE(06) LANE(07)
  LANE(08) LANE(09) LANE(10) LANE(11) LANE(12) LANE(13) LANE(14) LANE(15)
  LANE(16) LANE(17) LANE(18) LANE(19) LANE(20) LANE(21) LANE(22) LANE(23)
  LANE(24) LANE(25) LANE(26) LANE(27) LANE(28) LANE(29) LANE(30) LANE(31)

  apply {
    weights.apply();
    sum00.apply(); sum01.apply(); sum02.apply(); sum03.apply();
    sum04.apply(); sum05.apply(); sum06.apply(); sum07.apply();
    sum08.apply(); sum09.apply(); sum10.apply(); sum11.apply();
    sum12.apply(); sum13.apply(); sum14.apply(); sum15.apply();
    sum16.apply(); sum17.apply(); sum18.apply(); sum19.apply();
    sum20.apply(); sum21.apply(); sum22.apply(); sum23.apply();
    sum24.apply(); sum25.apply(); sum26.apply(); sum27.apply();
    sum28.apply(); sum29.apply(); sum30.apply(); sum31.apply();
  }
}

#undef SLOT
#undef LANE

#endif  // L3DML_AGGREGATOR_P4_
