// Intrinsic metadata of a Tofino 1 by the names of tna.p4, with their widths as comments: what a parser is
// told, what a program asks of deparser and traffic manager, what egress is told. Optional fields are those
// whose being written matters (a chip looks at the container's valid bit, not at the value). Plain data.
#pragma once

#include <cstdint>
#include <optional>

namespace l3dml::tna {

struct IngressIntrinsic {           // ingress_intrinsic_metadata_t
  bool resubmit_flag = false;       // 1
  uint8_t packet_version = 0;       // 2
  uint16_t ingress_port = 0;        // 9
  uint64_t ingress_mac_tstamp = 0;  // 48, ns
};

struct IngressFromParser {     // ingress_intrinsic_metadata_from_parser_t
  uint64_t global_tstamp = 0;  // 48, ns
  uint32_t global_ver = 0;
  uint16_t parser_err = 0;
};
enum ParserError : uint16_t {
  kParserNoMatch = 0x0001,
  kParserPartialHeader = 0x0002,
  kParserCounterRange = 0x0004,
  kParserTimeoutUser = 0x0008,
  kParserTimeoutHardware = 0x0010,
  kParserSourceExtract = 0x0020,
  kParserDestinationContainer = 0x0040,
  kParserPhvOwner = 0x0080,
  kParserMultiWrite = 0x0100,
  kParserMemory = 0x0400,
  kParserCheckSequence = 0x0800,
};

// drop_ctl: bit 0 drops unicast, multicast and resubmit, bit 1 the copy to the processor, bit 2 mirror copies
// (egress).
constexpr uint8_t kDropPacket = 1, kDropCopyToCpu = 2, kDropMirror = 4;

struct IngressForDeparser {  // ingress_intrinsic_metadata_for_deparser_t
  uint8_t drop_ctl = 0;      // 3
  std::optional<uint8_t> digest_type, resubmit_type, mirror_type;  // 3 each
};

struct IngressForTm {                         // ingress_intrinsic_metadata_for_tm_t
  std::optional<uint16_t> ucast_egress_port;  // 9
  bool bypass_egress = false;                 // 1
  bool deflect_on_drop = false;               // 1
  uint8_t ingress_cos = 0;                    // 3
  uint8_t qid = 0;                            // 5
  uint8_t icos_for_copy_to_cpu = 0;           // 3
  bool copy_to_cpu = false;                   // 1
  uint8_t packet_color = 0;                   // 2
  bool disable_ucast_cutthru = false;         // 1
  bool enable_mcast_cutthru = false;          // 1
  std::optional<uint16_t> mcast_grp_a, mcast_grp_b;
  uint16_t level1_mcast_hash = 0, level2_mcast_hash = 0;  // 13 each
  uint16_t level1_exclusion_id = 0;
  uint16_t level2_exclusion_id = 0;  // 9
  uint16_t rid = 0;
};

struct EgressIntrinsic {     // egress_intrinsic_metadata_t, what the emulation knows of it
  uint16_t egress_port = 0;  // 9
  uint32_t enq_qdepth = 0;   // 19
  uint32_t deq_qdepth = 0;   // 19
  uint16_t egress_rid = 0;
  bool egress_rid_first = false;  // 1
  uint8_t egress_qid = 0;         // 5
  uint8_t egress_cos = 0;         // 3
  bool deflection_flag = false;   // 1
  uint16_t pkt_length = 0;
};

struct EgressForDeparser {             // egress_intrinsic_metadata_for_deparser_t
  uint8_t drop_ctl = 0;                // 3
  std::optional<uint8_t> mirror_type;  // 3
};

enum class Gress : uint8_t { ingress = 1, egress = 2, both = 3 };

// MeterColor_t.
enum class Color : uint8_t { green = 0, yellow = 1, red = 3 };

}  // namespace l3dml::tna
