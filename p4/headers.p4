// The wire format of DESIGN section 4; dataplane/wire/header.h says the same in C++ and the contract test compares
// names, widths and offsets. All fields are big-endian.
#ifndef L3DML_HEADERS_P4_
#define L3DML_HEADERS_P4_

header ethernet_h {
  bit<48> dst_addr;
  bit<48> src_addr;
  bit<16> ether_type;
}

header ipv6_h {
  bit<4> version;
  bit<8> traffic_class;
  bit<20> flow_label;
  bit<16> payload_length;
  bit<8> next_header;
  bit<8> hop_limit;
  bit<128> src_addr;  // 48 prefix | 16 locator | 8 function | 8 path | 16 job | 16 child | 16 zero
  bit<128> dst_addr;
}

header ipv4_h {
  bit<4> version;
  bit<4> ihl;
  bit<8> traffic_class;
  bit<16> total_length;
  bit<16> identification;
  bit<16> flags_fragment;
  bit<8> hop_limit;
  bit<8> protocol;
  bit<16> checksum;
  bit<32> src_addr;
  bit<32> dst_addr;
}

header udp_h {
  bit<16> src_port;
  bit<16> dst_port;
  bit<16> length;
  bit<16> checksum;
}

header l3dml_h {
  bit<4> version;
  bit<4> type;
  bit<8> flags;
  bit<16> job;
  bit<8> epoch;
  bit<8> child;      // sender's index at the parent (up), receiver's index (down)
  bit<16> tag;
  bit<32> slot;      // the receiver's absolute ring entry
  bit<32> number;    // NACK: one past the last missing seq
  bit<8> exp;
  bit<8> next_exp;
  bit<16> weight;
  bit<32> seq;       // NACK: first missing; SYNC: next that will be used
}

// Half of the 64 lanes of a packet: one header is in reach of the stateful ALUs per pass.
header lanes_h {
  bit<32> d00; bit<32> d01; bit<32> d02; bit<32> d03; bit<32> d04; bit<32> d05; bit<32> d06; bit<32> d07;
  bit<32> d08; bit<32> d09; bit<32> d10; bit<32> d11; bit<32> d12; bit<32> d13; bit<32> d14; bit<32> d15;
  bit<32> d16; bit<32> d17; bit<32> d18; bit<32> d19; bit<32> d20; bit<32> d21; bit<32> d22; bit<32> d23;
  bit<32> d24; bit<32> d25; bit<32> d26; bit<32> d27; bit<32> d28; bit<32> d29; bit<32> d30; bit<32> d31;
}

// In front of every frame between ingress and egress, and of recirculated frames. Bit 7 of pass is always set.
header bridge_h {
  bit<8> pass;
  bit<7> reserved;
  bit<9> port;        // where the frame came in; of a NACK: where its repairs leave
  bit<16> neighbor;
}

// In front of a copy that egress makes a NACK or an answer of.
header mirror_h {
  bit<8> pass;
  bit<16> neighbor;
  bit<32> first_missing;
}

// In front of a NACK's copy that stands for the rest of its range; written in halves, read whole.
header rest_written_h {
  bit<8> pass;
  bit<16> first_high;
  bit<16> first_low;
  bit<32> end;
}
header rest_h {
  bit<8> pass;
  bit<32> first;
  bit<32> end;
}

// What the packet generator puts in front (TNA's pktgen_timer_header_t; its first byte is below 0x80).
header generator_h {
  bit<3> reserved0;
  bit<2> pipe;
  bit<3> application;
  bit<8> reserved1;
  bit<16> batch;
  bit<16> packet;
}

struct header_t {
  bridge_h bridge;
  mirror_h mirror;
  rest_h rest;
  generator_h generator;
  ethernet_h ethernet;
  ipv6_h ipv6;
  ipv4_h ipv4;
  udp_h udp;
  l3dml_h l3dml;
  lanes_h lanes_low;   // lanes 0..31
  lanes_h lanes_high;  // lanes 32..63
}

#endif  // L3DML_HEADERS_P4_
