// Why a packet went no further. Declared once, here; mirrored by p4/types.p4 and read through the counter
// pipe.Ingress.drop_reasons (index = value). Values are stable: append, never renumber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace l3dml::base {

// X(name, text)
#define L3DML_DROP_REASONS(X)                                                             \
  X(none, "not dropped")                                                                  \
  X(consumed, "absorbed: summed into its slot, or an answer needed nothing more")         \
  X(truncated, "shorter than a header in it says")                                        \
  X(bad_ipv4_header, "IPv4 version, header length or checksum is wrong")                  \
  X(bad_ipv6_header, "IPv6 version or payload length is wrong")                           \
  X(bad_udp_length, "UDP length does not fit the packet")                                 \
  X(fragment, "a fragment sent to an aggregation address")                                \
  X(unknown_version, "L3DML version is not 1")                                            \
  X(unknown_type, "L3DML type is unknown")                                                \
  X(unknown_flag, "an L3DML flag that must be zero is set, or does not go with the type") \
  X(recirculated_type, "a recirculation packet came from a port")                         \
  X(not_l3dml, "sent to an aggregation address, but not L3DML")                           \
  X(address_mismatch, "job or child in address and header differ")                        \
  X(unknown_job, "no such job here")                                                      \
  X(wrong_epoch, "the job is in another epoch")                                           \
  X(wrong_child, "the job has no such child here, or the type may not come from it")      \
  X(wrong_source, "this child lives at another address or port")                          \
  X(wrong_slot, "slot is outside the job's ring")                                         \
  X(wrong_shard, "number, slot and UDP port do not agree")                                \
  X(bad_lane_count, "lanes are neither none nor those of the job")                        \
  X(stale, "the slot already holds a newer number")                                       \
  X(duplicate, "this child was already added")                                            \
  X(down_repeated, "the result is already here, or a newer number is")                    \
  X(nack_empty, "NACK range is empty, or beyond what was sent")                           \
  X(nack_not_held, "NACKed packet is no longer in its slot")                              \
  X(nack_limited, "repairs of this segment are above their rate")                         \
  X(sync_in_order, "SYNC that shows no hole")                                             \
  X(no_route, "no route to the destination")                                              \
  X(no_neighbor, "link-layer address of the next hop is unknown")                         \
  X(hop_limit, "hop limit ran out")                                                       \
  X(foreign_mac, "not addressed to this port")                                            \
  X(port_down, "the output port does not exist or is down")                               \
  X(unknown_replica, "no replica entry for this neighbor")                                \
  X(no_buffer, "no packet buffer was free")                                               \
  X(queue_full, "the output queue was full")                                              \
  X(policed, "answers of this kind are rate-limited")                                     \
  X(unsupported_ethertype, "neither IPv6, IPv4, ARP nor neighbour discovery")

enum class DropReason : uint8_t {
#define L3DML_X(name, text) name,
  L3DML_DROP_REASONS(L3DML_X)
#undef L3DML_X
      count_  // number of reasons
};

constexpr size_t kDropReasons = static_cast<size_t>(DropReason::count_);

constexpr std::string_view drop_reason_name(DropReason reason) {
  constexpr std::string_view kNames[] = {
#define L3DML_X(name, text) #name,
      L3DML_DROP_REASONS(L3DML_X)
#undef L3DML_X
  };
  return reason < DropReason::count_ ? kNames[static_cast<size_t>(reason)] : "invalid";
}

constexpr std::string_view drop_reason_text(DropReason reason) {
  constexpr std::string_view kTexts[] = {
#define L3DML_X(name, text) text,
      L3DML_DROP_REASONS(L3DML_X)
#undef L3DML_X
  };
  return reason < DropReason::count_ ? kTexts[static_cast<size_t>(reason)] : "invalid";
}

}  // namespace l3dml::base
