// What becomes of the packet, from what the registers said: DESIGN section 5 as one constant table, first match wins.
// Twin: dataplane/blocks/next_step.h.
#ifndef L3DML_NEXT_STEP_P4_
#define L3DML_NEXT_STEP_P4_

control NextStep(inout header_t hdr, inout ingress_metadata_t ig_md) {
  action drop(bit<8> reason) {
    ig_md.verdict = VERDICT_DROP;
    ig_md.reason = reason;
  }
  action refuse() {  // the reason is set already
    ig_md.verdict = VERDICT_DROP;
  }
  action route() {
    ig_md.verdict = VERDICT_ROUTE;
  }
  action steer() {
    ig_md.verdict = VERDICT_STEER;
    ig_md.next_pass = PASS_STEERED;
  }
  action recirculate(bit<8> next_pass) {
    ig_md.verdict = VERDICT_RECIRCULATE;
    ig_md.next_pass = next_pass;
  }
  // Finish again and tell the child that asked: the answer is a copy of its PROBE.
  action finish_and_answer() {
    ig_md.verdict = VERDICT_RECIRCULATE;
    ig_md.next_pass = PASS_FINISH_AGAIN;
    ig_md.mirror_pass = MIRROR_WAITING;
  }
  action finish_and_answer_steered() {
    ig_md.verdict = VERDICT_RECIRCULATE;
    ig_md.next_pass = PASS_FINISH_AGAIN;
    ig_md.mirror_pass = MIRROR_WAITING_STEERED;
  }
  action multicast() {
    ig_md.verdict = VERDICT_MULTICAST;
    ig_md.next_pass = SEND_DOWN;
  }
  action to_parent(bit<8> send) {
    ig_md.verdict = VERDICT_TO_PARENT;
    ig_md.next_pass = send;
    ig_md.neighbor = ig_md.parent;
  }
  action to_sender(bit<8> send) {
    ig_md.verdict = VERDICT_TO_SENDER;
    ig_md.next_pass = send;
  }
  action reply(bit<8> send) {
    ig_md.verdict = VERDICT_REPLY;
    ig_md.next_pass = send;
  }
  action look_up() {
    ig_md.verdict = VERDICT_LOOK_UP;
    ig_md.next_pass = LOOK_UP;
  }
  action generate() {
    ig_md.verdict = VERDICT_GENERATED;
    ig_md.next_pass = SEND_SYNC;
  }

  table next_step {
    key = {
      GATE_KEY
      ig_md.no_route : ternary;
      ig_md.op : ternary;
      ig_md.role : ternary;
      ig_md.relation : ternary;
      ig_md.seen : ternary;
      ig_md.count : ternary;
      ig_md.mirror_pass : ternary;
      hdr.l3dml.flags : ternary;
      hdr.bridge.isValid() : ternary @name("recirculated");
    }
    actions = {
      drop;
      refuse;
      route;
      steer;
      recirculate;
      finish_and_answer;
      finish_and_answer_steered;
      multicast;
      to_parent;
      to_sender;
      reply;
      look_up;
      generate;
    }
    const default_action = refuse();
    const entries = {
      // gate (ours, admitted, disagrees, steered), no_route, op, role, relation, seen, count, mirror, flags, recirculated
      (_, 1, _, _, _, OP_GENERATED, _, _, _, _, _, _, _) : generate();
      (_, 0, _, _, _, OP_GENERATED, _, _, _, _, _, _, _) : drop(REASON_UNKNOWN_JOB);
      (_, _, _, _, _, PASS_REFUSED, _, _, _, _, _, _, _) : drop(REASON_NACK_EMPTY);
      // repairs: a result is sent again if it is here, a sum if it is complete and the result is not here
      (_, _, _, _, _, PASS_REPAIR, _, STAMP_EQUAL, DONE &&& DONE, _, _, FLAG_DOWN &&& FLAG_DOWN, _) : recirculate(PASS_REPAIR_HIGH);
      (_, _, _, _, _, PASS_REPAIR, _, STAMP_EQUAL, 0 &&& DONE, 0, _, 0 &&& FLAG_DOWN, _) : recirculate(PASS_REPAIR_HIGH);
      (_, _, _, _, _, PASS_REPAIR_HIGH, _, STAMP_EQUAL, DONE &&& DONE, _, _, FLAG_DOWN &&& FLAG_DOWN, _) : to_sender(SEND_DOWN_REPAIR);
      (_, _, _, _, _, PASS_REPAIR_HIGH, _, STAMP_EQUAL, 0 &&& DONE, 0, _, 0 &&& FLAG_DOWN, _) : to_sender(SEND_UP_REPAIR);
      (_, _, _, _, _, PASS_REPAIR, _, _, _, _, _, _, _) : drop(REASON_NACK_NOT_HELD);
      (_, _, _, _, _, PASS_REPAIR_HIGH, _, _, _, _, _, _, _) : drop(REASON_NACK_NOT_HELD);
      // what is not for us, and what is refused
      (0, _, _, _, 1, _, _, _, _, _, _, _, _) : drop(REASON_NO_ROUTE);
      (0, _, _, _, _, _, _, _, _, _, _, _, _) : route();
      (1, _, _, _, _, OP_MALFORMED, _, _, _, _, _, _, _) : refuse();
      (1, _, DISAGREES_LENGTH, _, _, _, _, _, _, _, _, _, _) : drop(REASON_BAD_UDP_LENGTH);
      (1, _, DISAGREES_ADDRESS, _, _, _, _, _, _, _, _, _, _) : drop(REASON_ADDRESS_MISMATCH);
      (1, 0, _, _, _, _, _, _, _, _, _, _, _) : refuse();
      (1, 1, DISAGREES_LANES, _, _, _, _, _, _, _, _, _, _) : drop(REASON_BAD_LANE_COUNT);
      (1, 1, 0, 1, _, _, _, _, _, _, _, _, _) : steer();
      (1, 1, 0, 0, _, OP_NONE, _, _, _, _, _, _, _) : drop(REASON_BAD_LANE_COUNT);
      // NACK, SYNC
      (1, 1, 0, 0, _, OP_NACK, _, _, _, _, _, _, _) : look_up();
      (1, 1, 0, 0, _, OP_SYNC, _, _, _, _, 0, _, _) : drop(REASON_SYNC_IN_ORDER);
      (1, 1, 0, 0, _, OP_SYNC, _, _, _, _, _, _, _) : drop(REASON_CONSUMED);
      // UP
      (1, 1, 0, 0, _, OP_UP, _, STAMP_NEWER, _, _, _, _, _) : drop(REASON_STALE);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_OLDER, _, 0, _, _, _) : recirculate(PASS_FINISH);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_OLDER, _, _, _, _, _) : drop(REASON_CONSUMED);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_EQUAL, 0, 0, _, _, _) : recirculate(PASS_FINISH);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_EQUAL, 0, _, _, _, _) : drop(REASON_CONSUMED);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_EQUAL, DONE &&& DONE, _, _, _, _) : recirculate(PASS_ANSWER);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_EQUAL, _, 0, _, _, _) : recirculate(PASS_FINISH_AGAIN);
      (1, 1, 0, 0, _, OP_UP, _, STAMP_EQUAL, _, _, _, _, _) : drop(REASON_DUPLICATE);
      // DOWN
      (1, 1, 0, 0, _, OP_DOWN, _, STAMP_OLDER, _, _, _, _, _) : multicast();
      (1, 1, 0, 0, _, OP_DOWN, _, STAMP_EQUAL, 0, _, _, _, _) : multicast();
      (1, 1, 0, 0, _, OP_DOWN, _, _, _, _, _, _, _) : drop(REASON_DOWN_REPEATED);
      // PROBE
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_NEWER, _, _, _, _, _) : drop(REASON_STALE);
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_OLDER, _, _, _, _, _) : reply(SEND_MISSING);
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_EQUAL, 0, _, _, _, _) : reply(SEND_MISSING);
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_EQUAL, DONE &&& DONE, _, _, _, _) : recirculate(PASS_ANSWER);
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_EQUAL, _, 0, _, _, false) : finish_and_answer();
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_EQUAL, _, 0, _, _, true) : finish_and_answer_steered();
      (1, 1, 0, 0, _, OP_PROBE, _, STAMP_EQUAL, _, _, _, _, _) : reply(SEND_WAITING);
      // second passes: somebody else may have been faster
      (1, 1, 0, 0, _, PASS_FINISH, _, STAMP_EQUAL, DONE &&& DONE, _, _, _, _) : drop(REASON_DUPLICATE);
      (1, 1, 0, 0, _, PASS_FINISH, ROLE_ROOT, STAMP_EQUAL, _, _, _, _, _) : multicast();
      (1, 1, 0, 0, _, PASS_FINISH, _, STAMP_EQUAL, _, _, _, _, _) : to_parent(SEND_UP);
      (1, 1, 0, 0, _, PASS_FINISH_AGAIN, _, STAMP_EQUAL, DONE &&& DONE, _, _, _, _) : drop(REASON_DUPLICATE);
      (1, 1, 0, 0, _, PASS_FINISH_AGAIN, ROLE_ROOT, STAMP_EQUAL, _, _, _, _, _) : multicast();
      (1, 1, 0, 0, _, PASS_FINISH_AGAIN, _, STAMP_EQUAL, _, _, _, _, _) : to_parent(SEND_UP_AGAIN);
      (1, 1, 0, 0, _, PASS_ANSWER, _, STAMP_EQUAL, DONE &&& DONE, _, _, _, _) : to_sender(SEND_DOWN_ONE);
      (1, 1, 0, 0, _, _, _, _, _, _, _, _, _) : drop(REASON_STALE);
    }
    size = 64;
  }

  apply {
    next_step.apply();
  }
}

#endif  // L3DML_NEXT_STEP_P4_
