// What control/ knows of the device program beyond bf-rt.json: numbers that both sides must agree on.
// The lab's contract test compares them with dataplane/base/drop_reason.h and dataplane/wire/header.h.
#pragma once

#include <cstdint>

namespace l3dml::control {

enum class PacketType : uint8_t { up = 1, down = 2, nack = 3, sync = 4, probe = 6 };
constexpr uint8_t kFlagDown = 4;

enum class Reject : uint8_t {
  unknown_job = 13,
  wrong_epoch = 14,
  wrong_child = 15,
  wrong_source = 16,
  wrong_slot = 17
};

enum class Role : uint8_t { root = 1, inner = 2 };

constexpr uint16_t kSwitchSourcePort = 49152;  // UDP source ports of switches start here
constexpr int kDone = 31;                      // bit of a slot's bitmap

// By value of pipe.Ingress.drop_reasons.
constexpr const char* kDropReasons[] = {"none",
                                        "consumed",
                                        "truncated",
                                        "bad_ipv4_header",
                                        "bad_ipv6_header",
                                        "bad_udp_length",
                                        "fragment",
                                        "unknown_version",
                                        "unknown_type",
                                        "unknown_flag",
                                        "recirculated_type",
                                        "not_l3dml",
                                        "address_mismatch",
                                        "unknown_job",
                                        "wrong_epoch",
                                        "wrong_child",
                                        "wrong_source",
                                        "wrong_slot",
                                        "wrong_shard",
                                        "bad_lane_count",
                                        "stale",
                                        "duplicate",
                                        "down_repeated",
                                        "nack_empty",
                                        "nack_not_held",
                                        "nack_limited",
                                        "sync_in_order",
                                        "no_route",
                                        "no_neighbor",
                                        "hop_limit",
                                        "foreign_mac",
                                        "port_down",
                                        "unknown_replica",
                                        "no_buffer",
                                        "queue_full",
                                        "policed",
                                        "unsupported_ethertype"};

}  // namespace l3dml::control
