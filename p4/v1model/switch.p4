// L3DML for BMv2 (simple_switch, v1model): the blocks of ../, with v1model's way of saying drop, copy and recirculate.
// What differs: one pipe, no packet generator (send its frames to port 68), mirror sessions are 512 + port as on Tofino.
#include <core.p4>
#include <v1model.p4>

#include "../configuration.p4"
#include "../headers.p4"
#include "../types.p4"
#include "../parsers.p4"
#include "stateful.p4"

const bit<8> COPY_FIELDS = 1;  // the annotated fields below
const bit<8> NO_FIELDS = 0;
const bit<9> OWN_RECIRCULATION_PORT = 9w68;
const bit<32> INSTANCE_INGRESS_COPY = 1;
const bit<32> INSTANCE_EGRESS_COPY = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;

struct metadata_t {
  ingress_metadata_t ig_md;
  egress_metadata_t eg_md;
  @field_list(1) bit<8> copy_pass;
  @field_list(1) bit<16> copy_neighbor;
  @field_list(1) bit<32> copy_first;
  @field_list(1) bit<32> copy_end;
}

#include "ingress.p4"
#include "egress.p4"

control VerifyChecksum(inout header_t hdr, inout metadata_t meta) {
  apply {}
}

control ComputeChecksum(inout header_t hdr, inout metadata_t meta) {
  apply {
    update_checksum(hdr.ipv4.isValid(),
                    {hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.traffic_class, hdr.ipv4.total_length,
                     hdr.ipv4.identification, hdr.ipv4.flags_fragment, hdr.ipv4.hop_limit, hdr.ipv4.protocol,
                     hdr.ipv4.src_addr, hdr.ipv4.dst_addr},
                    hdr.ipv4.checksum, HashAlgorithm.csum16);
  }
}

V1Switch(SwitchParser(), VerifyChecksum(), Ingress(), Egress(), ComputeChecksum(), SwitchDeparser()) main;
