// The constants of a job at this switch, by the index that admission gave. x86 needs all of them; the chip has 64 lanes
// compiled in and takes slots as they are in the packet. Twin: dataplane/blocks/job.h.
#ifndef L3DML_JOB_P4_
#define L3DML_JOB_P4_

control Job(inout ingress_metadata_t ig_md) {
  action set_job(bit<16> lanes, bit<8> shard_shift, bit<32> slot_base, bit<32> ring_mask) {
    ig_md.lanes = lanes;
  }
  table job {
    key = {
      ig_md.job_index : exact @name("job_index");
    }
    actions = {
      set_job;
      @defaultonly NoAction;
    }
    const default_action = NoAction();
    size = JOB_ENTRIES;
  }

  apply {
    job.apply();
  }
}

#endif  // L3DML_JOB_P4_
