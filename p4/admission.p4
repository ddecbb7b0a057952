// Is this packet of a job that we know, from whom it says, into the job's slots? Nothing a stranger sends touches state.
// The controller adds entries of lower priority so that a miss is refused with its reason. Twin: dataplane/blocks/admission.h.
#ifndef L3DML_ADMISSION_P4_
#define L3DML_ADMISSION_P4_

control Admission(inout header_t hdr, inout ingress_metadata_t ig_md, in bit<9> ingress_port) {
  // mask: the sender's bit of bitmap (0 for the parent). neighbor, parent: pairs of (stripe, neighbour), each with the port
  // that leads there; answers to the sender leave by neighbor_port, wherever it came in. parent_port and parent count at
  // an inner aggregator, children and mgid for what is summed. job_index: see job.p4.
  action admit(bit<32> mask, bit<16> children, bit<8> role, bit<16> neighbor, bit<9> neighbor_port, bit<16> parent,
               bit<9> parent_port, bit<16> mgid, bit<16> job_index) {
    ig_md.admitted = 1;
    ig_md.mask = ig_md.mask | mask;            // the parser made it 0, or DONE for a DOWN
    ig_md.seen_mask = ig_md.seen_mask | mask;  // the parser made it DONE
    ig_md.children = children;
    ig_md.role = role;
    ig_md.neighbor = neighbor;
    ig_md.neighbor_port = neighbor_port;
    ig_md.parent = parent;
    ig_md.parent_port = parent_port;
    ig_md.mgid = mgid;
    ig_md.job_index = job_index;
  }
  action reject(bit<8> reason) {
    ig_md.reason = reason;
  }
  table admission {
    key = {
      hdr.l3dml.type : ternary;
      hdr.l3dml.flags : ternary;
      hdr.l3dml.job : ternary;
      hdr.l3dml.epoch : ternary;
      hdr.l3dml.child : ternary;
      hdr.ipv6.src_addr[79:64] : ternary @name("src_locator");
      hdr.ipv6.src_addr[31:0] : ternary @name("src_host");
      hdr.l3dml.slot : ternary;
      ig_md.port : ternary @name("ig_intr_md.ingress_port");
    }
    actions = {
      admit;
      reject;
    }
    default_action = reject(REASON_UNKNOWN_JOB);
    size = ADMISSION_ENTRIES;
  }

  // Registers are per pipe: a shard that another pipe owns goes there by that pipe's recirculation port.
  action steer(bit<9> port) {
    ig_md.steered = 1;
    ig_md.owner_port = port;
  }
  table owner {
    key = {
      hdr.l3dml.job : exact;
      hdr.udp.dst_port : exact;
      ingress_port[8:7] : exact @name("pipe");
    }
    actions = {
      steer;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = OWNER_ENTRIES;
  }

  // The packet generator numbers its packets; each number stands for a segment that this switch sends on.
  action speak_for(bit<16> neighbor, bit<9> port, bit<16> job, bit<8> epoch, bit<8> flags, bit<16> udp_dst_port) {
    ig_md.admitted = 1;
    ig_md.neighbor = neighbor;
    ig_md.generated_port = port;
    hdr.l3dml.job = job;
    hdr.l3dml.epoch = epoch;
    hdr.l3dml.flags = flags;
    hdr.udp.dst_port = udp_dst_port;
  }
  table generated {
    key = {
      hdr.generator.packet : exact;
    }
    actions = {
      speak_for;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = GENERATED_ENTRIES;
  }

  action disagree(bit<2> how) {
    ig_md.disagrees = how;
  }

  apply {
    // Job and child in address and header must agree; a parent's packets come to child ffff. Only a worker may send an UP
    // without lanes.
    if (hdr.l3dml.isValid()) {
      if (hdr.ipv6.payload_length != hdr.udp.length) {
        disagree(DISAGREES_LENGTH);
      } else if (hdr.ipv6.dst_addr[47:32] != hdr.l3dml.job) {
        disagree(DISAGREES_ADDRESS);
      } else if (hdr.ipv6.dst_addr[31:16] != CHILD_PARENT &&
                 (hdr.ipv6.dst_addr[31:24] != 0 || hdr.ipv6.dst_addr[23:16] != hdr.l3dml.child)) {
        disagree(DISAGREES_ADDRESS);
      } else if (hdr.udp.length == LENGTH_WITHOUT_LANES && hdr.l3dml.type == TYPE_UP &&
                 hdr.ipv6.src_addr[63:56] == FUNCTION_AGGREGATE && hdr.ipv6.src_addr[31:16] == CHILD_SWITCH) {
        disagree(DISAGREES_LANES);
      }
    }
    if (hdr.generator.isValid()) {
      generated.apply();
    } else if (hdr.l3dml.isValid() && ig_md.reason == REASON_NONE) {
      admission.apply();
      owner.apply();
    }
  }
}

#endif  // L3DML_ADMISSION_P4_
