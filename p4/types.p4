// Constants and metadata that every block shares. Values that also exist in C++ are compared by the contract test.
#ifndef L3DML_TYPES_P4_
#define L3DML_TYPES_P4_

// ---- Ethernet, IP, UDP
const bit<16> ETHER_TYPE_IPV4 = 16w0x0800;
const bit<16> ETHER_TYPE_IPV6 = 16w0x86dd;
const bit<8> PROTOCOL_UDP = 8w17;
const bit<16> UDP_PORT = 16w19507;     // of shard 0; 64 ports
const bit<8> SENT_HOP_LIMIT = 8w64;
const bit<8> SENT_TRAFFIC_CLASS = 8w2; // ECT(0): queues may mark it

// ---- L3DML header
const bit<4> L3DML_VERSION = 4w1;
const bit<4> TYPE_UP = 4w1;
const bit<4> TYPE_DOWN = 4w2;
const bit<4> TYPE_NACK = 4w3;
const bit<4> TYPE_SYNC = 4w4;
const bit<4> TYPE_RECIRCULATED = 4w5;
const bit<4> TYPE_PROBE = 4w6;
const bit<8> FLAG_RETX = 8w1;
const bit<8> FLAG_DOWN = 8w4;
const bit<8> FLAG_ECE = 8w8;
const bit<16> CHILD_PARENT = 16w0xffff;   // in an address: the child is an aggregator, this is a packet of its parent

const bit<16> LENGTH_WITHOUT_LANES = 16w32;  // UDP length: UDP 8 + L3DML 24
const bit<16> LENGTH_WITH_LANES = 16w288;    // + 64 lanes

// ---- What a pass through ingress is about (ig_md.op). Those below 0x80 come from the parser, the others travel in
// bridge.pass of a recirculated frame; bit 7 tells a bridge from the packet generator's header.
const bit<8> OP_NONE = 8w0;        // nothing to sum, or not as it came
const bit<8> OP_UP = 8w1;
const bit<8> OP_DOWN = 8w2;
const bit<8> OP_NACK = 8w3;
const bit<8> OP_SYNC = 8w4;
const bit<8> OP_PROBE = 8w6;
const bit<8> OP_GENERATED = 8w7;   // SYNC of a quiet segment, from the packet generator
const bit<8> OP_MALFORMED = 8w8;   // refused by the parser with ig_md.reason
const bit<8> PASS_STEERED = 8w0x80;       // first pass, in the pipe that owns the shard
const bit<8> PASS_FINISH = 8w0x81;        // complete: read the other lanes, send the sum
const bit<8> PASS_FINISH_AGAIN = 8w0x82;  // the same, because somebody asked
const bit<8> PASS_ANSWER = 8w0x83;        // done: read the other lanes, send the result to one child
const bit<8> PASS_REPAIR = 8w0x84;        // after a NACK: read half of the lanes
const bit<8> PASS_REPAIR_HIGH = 8w0x85;   // then the other half, and send
const bit<8> PASS_REFUSED = 8w0x86;       // a NACK that reaches too far: only to be counted

// ---- What egress shall make of a packet (bridge.pass between ingress and egress, first byte of a mirror header)
const bit<8> SEND_DOWN = 8w0x90;        // result to the children
const bit<8> SEND_DOWN_REPAIR = 8w0x91; // result to a child that sent a NACK
const bit<8> SEND_UP = 8w0x92;          // sum to the parent
const bit<8> SEND_UP_AGAIN = 8w0x93;    // the same, because somebody asked
const bit<8> SEND_UP_REPAIR = 8w0x94;   // the same, because the parent sent a NACK
const bit<8> SEND_MISSING = 8w0x95;     // answer to PROBE: yours is missing
const bit<8> SEND_WAITING = 8w0x96;     // answer to PROBE: yours is here
const bit<8> SEND_SYNC = 8w0x97;
const bit<8> SEND_DOWN_ONE = 8w0x99;    // result to a child that asked
const bit<8> LOOK_UP = 8w0x98;          // NACK on its way to the repair pass: seq -> number, slot
const bit<8> MIRROR_NACK = 8w0xa0;            // copy of a packet that showed a hole
const bit<8> MIRROR_NACK_STEERED = 8w0xa1;    // the same, a bridge header in front of the frame
const bit<8> MIRROR_WAITING = 8w0xa2;         // copy of a PROBE that made us finish again
const bit<8> MIRROR_WAITING_STEERED = 8w0xa3;
const bit<8> MIRROR_LOOK_UP = 8w0xa4;         // copy of a NACK: the rest of its range
const bit<3> MIRROR_TYPE = 3w1;

// ---- Relation of the slot's stamp to the number in the packet
const bit<8> STAMP_NEWER = 8w0;   // the packet is stale
const bit<8> STAMP_EQUAL = 8w1;
const bit<8> STAMP_OLDER = 8w2;   // the packet starts the entry anew

const bit<32> DONE = 32w0x80000000;  // bit 31 of bitmap: the lanes are the final result

// How a packet may contradict itself.
const bit<2> DISAGREES_ADDRESS = 2w1;  // job or child in address and header differ
const bit<2> DISAGREES_LENGTH = 2w2;   // of UDP and IPv6
const bit<2> DISAGREES_LANES = 2w3;    // none, and not from a worker

const bit<16> CHILD_SWITCH = 16w0xfffe;  // in an address: sent by a switch
const bit<8> FUNCTION_AGGREGATE = 8w1;

const bit<8> ROLE_ROOT = 8w1;
const bit<8> ROLE_INNER = 8w2;

// ---- What becomes of a packet (ig_md.verdict), carried out at the end of ingress
const bit<8> VERDICT_ROUTE = 8w0;        // not ours: where the forwarder said
const bit<8> VERDICT_DROP = 8w1;         // and count ig_md.reason
const bit<8> VERDICT_RECIRCULATE = 8w2;  // next pass = ig_md.next_pass
const bit<8> VERDICT_MULTICAST = 8w3;    // to all children
const bit<8> VERDICT_TO_PARENT = 8w4;
const bit<8> VERDICT_TO_SENDER = 8w5;    // with lanes
const bit<8> VERDICT_REPLY = 8w6;        // to the sender, without lanes
const bit<8> VERDICT_LOOK_UP = 8w7;      // to the egress of the recirculation port
const bit<8> VERDICT_GENERATED = 8w8;
const bit<8> VERDICT_STEER = 8w9;

// ---- Why a packet goes no further: dataplane/base/drop_reason.h, same names, same values
const bit<8> REASON_NONE = 8w0;
const bit<8> REASON_CONSUMED = 8w1;
const bit<8> REASON_TRUNCATED = 8w2;
const bit<8> REASON_BAD_IPV4_HEADER = 8w3;
const bit<8> REASON_BAD_IPV6_HEADER = 8w4;
const bit<8> REASON_BAD_UDP_LENGTH = 8w5;
const bit<8> REASON_FRAGMENT = 8w6;
const bit<8> REASON_UNKNOWN_VERSION = 8w7;
const bit<8> REASON_UNKNOWN_TYPE = 8w8;
const bit<8> REASON_UNKNOWN_FLAG = 8w9;
const bit<8> REASON_RECIRCULATED_TYPE = 8w10;
const bit<8> REASON_NOT_L3DML = 8w11;
const bit<8> REASON_ADDRESS_MISMATCH = 8w12;
const bit<8> REASON_UNKNOWN_JOB = 8w13;
const bit<8> REASON_WRONG_EPOCH = 8w14;
const bit<8> REASON_WRONG_CHILD = 8w15;
const bit<8> REASON_WRONG_SOURCE = 8w16;
const bit<8> REASON_WRONG_SLOT = 8w17;
const bit<8> REASON_WRONG_SHARD = 8w18;
const bit<8> REASON_BAD_LANE_COUNT = 8w19;
const bit<8> REASON_STALE = 8w20;
const bit<8> REASON_DUPLICATE = 8w21;
const bit<8> REASON_DOWN_REPEATED = 8w22;
const bit<8> REASON_NACK_EMPTY = 8w23;
const bit<8> REASON_NACK_NOT_HELD = 8w24;
const bit<8> REASON_NACK_LIMITED = 8w25;
const bit<8> REASON_SYNC_IN_ORDER = 8w26;
const bit<8> REASON_NO_ROUTE = 8w27;
const bit<8> REASON_NO_NEIGHBOR = 8w28;
const bit<8> REASON_HOP_LIMIT = 8w29;
const bit<8> REASON_FOREIGN_MAC = 8w30;
const bit<8> REASON_PORT_DOWN = 8w31;
const bit<8> REASON_UNKNOWN_REPLICA = 8w32;
const bit<8> REASON_NO_BUFFER = 8w33;
const bit<8> REASON_QUEUE_FULL = 8w34;
const bit<8> REASON_POLICED = 8w35;
const bit<8> REASON_UNSUPPORTED_ETHERTYPE = 8w36;
#define DROP_REASONS 64

// What says whether a packet may touch state, as a table key and as values: open for what was admitted in this pass; a
// repair pass was admitted as the NACK that it came from, and is addressed to its receiver by now.
#define GATE_KEY             \
  ig_md.ours : ternary;      \
  ig_md.admitted : ternary;  \
  ig_md.disagrees : ternary; \
  ig_md.steered : ternary;
#define GATE_OPEN 1, 1, 0, 0
#define GATE_ANY _, _, _, _

// The index of all registers per slot: the controller hands out slots below SLOTS.
#define SLOT hdr.l3dml.slot[SLOT_INDEX_WIDTH - 1:0]

const bit<9> CPU_PORT = 9w64;
const bit<9> RECIRCULATION_PORT = 9w68;  // of pipe 0; + 128 for the next
const bit<10> MIRROR_SESSION = 10w512;   // + device port: a copy to that port, cut behind the headers

struct ingress_metadata_t {
  bit<9> port;                // device port the frame came in by, also after recirculation
  bit<8> op;                  // OP_* or PASS_*
  bit<8> reason;              // REASON_*: the parser's, admission's or next_step's complaint
  // gate: state may be touched only if ours, admitted, nothing in it disagrees, and not steered
  bit<1> ours;                // the destination is an aggregation address of this switch
  bit<1> admitted;
  bit<2> disagrees;           // DISAGREES_*
  bit<1> steered;             // another pipe owns this shard
  // admission's answer
  bit<32> mask;               // the sender's bit of bitmap
  bit<32> seen_mask;          // the same and DONE
  bit<16> children;
  bit<8> role;
  bit<16> neighbor;           // the sender's (stripe, neighbour) pair
  bit<9> neighbor_port;       // device port that leads to it
  bit<16> parent;             // the parent's pair
  bit<9> parent_port;
  bit<16> mgid;
  bit<16> job_index;
  bit<16> lanes;              // of the job
  // what the registers said
  bit<1> watched;             // first_missing was read
  bit<32> first_missing;      // seq before which something is missing; the packet's own seq: nothing is
  bit<8> relation;            // STAMP_*
  bit<32> seen;               // old bitmap AND seen_mask
  bit<16> count;              // children still missing
  // the decision
  bit<8> verdict;
  bit<8> next_pass;           // PASS_* of a recirculation, SEND_* for egress
  bit<8> mirror_pass;         // MIRROR_*, 0: no copy
  bit<10> mirror_session;
  bit<9> out_port;            // the forwarder's choice
  bit<9> generated_port;      // of a SYNC that the packet generator made
  bit<1> routed;
  bit<1> no_route;
  bit<1> filled;              // the lanes were made here: not to be sent unless asked for
  bit<9> recirculation_port;  // of this pipe
  bit<9> owner_port;          // recirculation port of the pipe that owns the shard
}

struct egress_metadata_t {
  bit<8> pass;           // SEND_*, LOOK_UP or MIRROR_*
  bit<16> neighbor;      // the receiver's pair
  bit<1> known;          // the receiver is in the table
  bit<16> shard;
  bit<32> first;         // NACK: first missing
  bit<32> end;           // NACK: one past the last missing
  bit<32> seq;           // of what is sent, or looked up
  bit<32> local_slot;    // our own entry of the number
  bit<32> slot;          // the receiver's entry
  bit<32> slot_base;
  bit<32> slot_mask;
  bit<16> ring_base;
  bit<16> ring_mask;
  bit<16> ring_index;
  bit<8> in_reach;
  bit<16> span;          // how many are missing
  bit<16> rest_low;      // first + 1, halves
  bit<16> rest_high;
  bit<8> mirror_pass;
  bit<10> mirror_session;
}

#endif  // L3DML_TYPES_P4_
