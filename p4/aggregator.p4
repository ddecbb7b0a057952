// The sums. lanesKK holds lane KK (first) and lane 32 + KK (second) of every slot: a stateful ALU adds both in one pass but
// returns one word, so a sum leaves in two passes, low lanes first. weight: how many workers' lanes are summed.
// Tables are keyed on what the slot's stamp and bitmap said and on what the pass is about. Twin: dataplane/blocks/aggregator.h.
#ifndef L3DML_AGGREGATOR_P4_
#define L3DML_AGGREGATOR_P4_

struct lane_pair_t {
  bit<32> first;
  bit<32> second;
}

#define LANE(KK)                                                                                \
  REGISTER_PAIR(lane_pair_t, 32, first, second, SLOT_INDEX_WIDTH, SLOTS, lanes##KK)             \
  ACCESS(lanes##KK, lane_pair_t, SLOT_INDEX_WIDTH, 32, set##KK, {                               \
    value.first = hdr.lanes_low.d##KK;                                                          \
    value.second = hdr.lanes_high.d##KK;                                                        \
    result = value.first;                                                                       \
  })                                                                                            \
  ACCESS(lanes##KK, lane_pair_t, SLOT_INDEX_WIDTH, 32, add##KK, {                               \
    value.first = value.first + hdr.lanes_low.d##KK;                                            \
    value.second = value.second + hdr.lanes_high.d##KK;                                         \
    result = value.first;                                                                       \
  })                                                                                            \
  ACCESS(lanes##KK, lane_pair_t, SLOT_INDEX_WIDTH, 32, low##KK, { result = value.first; })      \
  ACCESS(lanes##KK, lane_pair_t, SLOT_INDEX_WIDTH, 32, high##KK, { result = value.second; })    \
  action set_lanes##KK() {                                                                      \
    EXECUTE_PAIR(hdr.lanes_low.d##KK, set##KK, lanes##KK, lane_pair_t, 32, SLOT, first, second) \
  }                                                                                             \
  action add_lanes##KK() {                                                                      \
    EXECUTE_PAIR(hdr.lanes_low.d##KK, add##KK, lanes##KK, lane_pair_t, 32, SLOT, first, second) \
  }                                                                                             \
  action get_low##KK() {                                                                        \
    EXECUTE_PAIR(hdr.lanes_low.d##KK, low##KK, lanes##KK, lane_pair_t, 32, SLOT, first, second) \
  }                                                                                             \
  action get_high##KK() {                                                                       \
    EXECUTE_PAIR(hdr.lanes_high.d##KK, high##KK, lanes##KK, lane_pair_t, 32, SLOT, first, second)\
  }                                                                                             \
  table sum##KK {                                                                               \
    key = {                                                                                     \
      ig_md.relation : ternary;                                                                 \
      ig_md.op : ternary;                                                                       \
      ig_md.seen : ternary;                                                                     \
    }                                                                                           \
    actions = {                                                                                 \
      set_lanes##KK;                                                                            \
      add_lanes##KK;                                                                            \
      get_low##KK;                                                                              \
      get_high##KK;                                                                             \
      @defaultonly NoAction;                                                                    \
    }                                                                                           \
    const default_action = NoAction();                                                          \
    const entries = {                                                                           \
      (STAMP_OLDER, OP_UP, _) : set_lanes##KK();                                                \
      (STAMP_OLDER, OP_DOWN, _) : set_lanes##KK();                                              \
      (STAMP_EQUAL, OP_UP, 0) : add_lanes##KK();                                                \
      (STAMP_EQUAL, OP_DOWN, 0) : set_lanes##KK();                                              \
      (STAMP_EQUAL, OP_UP, _) : get_low##KK();                                                  \
      (STAMP_EQUAL, OP_PROBE, _) : get_low##KK();                                               \
      (STAMP_EQUAL, PASS_REPAIR, _) : get_low##KK();                                            \
      (STAMP_EQUAL, PASS_FINISH, _) : get_high##KK();                                           \
      (STAMP_EQUAL, PASS_FINISH_AGAIN, _) : get_high##KK();                                     \
      (STAMP_EQUAL, PASS_ANSWER, _) : get_high##KK();                                           \
      (STAMP_EQUAL, PASS_REPAIR_HIGH, _) : get_high##KK();                                      \
    }                                                                                           \
    size = 11;                                                                                  \
  }

control Aggregator(inout header_t hdr, inout ingress_metadata_t ig_md) {
  REGISTER(16, SLOT_INDEX_WIDTH, SLOTS, weight)

  ACCESS(weight, bit<16>, SLOT_INDEX_WIDTH, 16, set_weight, {
    value = hdr.l3dml.weight;
    result = value;
  })
  ACCESS(weight, bit<16>, SLOT_INDEX_WIDTH, 16, add_weight, {
    value = value + hdr.l3dml.weight;
    result = value;
  })
  ACCESS(weight, bit<16>, SLOT_INDEX_WIDTH, 16, read_weight, {
    result = value;
  })
  action first_weight() {
    EXECUTE(hdr.l3dml.weight, set_weight, weight, bit<16>, 16, SLOT)
  }
  action more_weight() {
    EXECUTE(hdr.l3dml.weight, add_weight, weight, bit<16>, 16, SLOT)
  }
  action get_weight() {
    EXECUTE(hdr.l3dml.weight, read_weight, weight, bit<16>, 16, SLOT)
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

#undef LANE

#endif  // L3DML_AGGREGATOR_P4_
