// The worked example of ../README.md, "How to add a block": counts packets of members that met congestion, by neighbour.
// Not part of the program; example_block_test.py builds it in as the steps say and runs it. Twin:
// dataplane/blocks/ce_marks.h, which lies in this folder as well.
#ifndef L3DML_CE_MARKS_P4_
#define L3DML_CE_MARKS_P4_

control CeMarks(in header_t hdr, in ingress_metadata_t ig_md) {
  COUNTER(NEIGHBOR_INDEX_WIDTH, NEIGHBORS, marks)

  action count_mark() {
    COUNT(marks, NEIGHBOR_INDEX_WIDTH, ig_md.neighbor)
  }
  table marked {
    key = {
      GATE_KEY
      hdr.bridge.isValid() : exact @name("recirculated");  // a packet counts in its first pass only
      hdr.ipv6.traffic_class : ternary;
    }
    actions = {
      count_mark;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    const entries = {
      (GATE_OPEN, false, 3 &&& 3) : count_mark();
    }
    size = 1;
  }

  apply {
    marked.apply();
  }
}

#endif  // L3DML_CE_MARKS_P4_
