#include "tools/gen/flood.h"

#include <algorithm>
#include <array>

#include "dataplane/wire/address.h"

namespace l3dml::gen {
namespace {

constexpr std::array<std::string_view, kBadKinds> kNames = {
    "unknown-job", "wrong-lanes", "jumbo", "fragment", "wrong-epoch", "wrong-source", "truncated", "garbage"};

constexpr uint8_t kFragmentHeader = 44;

uint32_t room_of(const base::Packet& packet) {
  return packet.capacity - static_cast<uint32_t>(packet.data - packet.buffer);
}

}  // namespace

std::string_view bad_name(Bad kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<Bad> parse_bad(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Bad>(found - kNames.begin());
}

void BadFrames::write(Bad kind, const Member& member, base::Packet* packet) {
  const host::StripeConfig& stripe = member.stripe;
  const uint32_t room = room_of(*packet);
  uint32_t lanes = stripe.lanes;
  if (kind == Bad::wrong_lanes) lanes = below(2 * stripe.lanes);  // 0 to twice
  if (lanes == stripe.lanes && kind == Bad::wrong_lanes) ++lanes;
  if (kind == Bad::wrong_lanes && lanes == 0) ++lanes;  // an UP without lanes is a right one
  if (kind == Bad::jumbo) lanes = (std::min(room, 9000u) - static_cast<uint32_t>(wire::kHeadSize)) / 4;
  lanes = std::min(lanes, (room - static_cast<uint32_t>(wire::kHeadSize)) / 4);
  const wire::Head head = host::head_of(stripe, member.own, member.next);
  packet->size = host::write_head(packet->data, head, 0, wire::kL3dmlSize + size_t{lanes} * 4);
  auto& frame = *reinterpret_cast<wire::Head*>(packet->data);
  const uint32_t number = stripe.first_number + below(1 << 20);
  wire::L3dmlHeader& h = frame.l3dml;
  h = {};
  h.set_type(wire::Type::up);
  h.job.set(stripe.job);
  h.epoch = stripe.epoch;
  h.child = stripe.child;
  h.slot.set(stripe.slot_base + (number & (stripe.ring - 1)));
  h.number.set(number & ~(stripe.shards - 1));
  h.weight.set(1);
  h.seq.set(below(1u << 31));
  std::memset(packet->data + wire::kHeadSize, 0x5a, size_t{lanes} * 4);
  switch (kind) {
    case Bad::unknown_job: {
      const auto job = static_cast<uint16_t>(0x8000 | below(0x8000));
      const wire::Place place = wire::to_place(stripe.aggregator);
      h.job.set(job);
      frame.ipv6.dst_addr =
          wire::aggregation_address(place.prefix, place.locator, place.path, job, stripe.child);
      break;
    }
    case Bad::wrong_lanes:
      if (below(4) == 0) {  // half a lane more: the lengths agree, their remainder by 4 does not
        packet->size += 2;
        const wire::be16_t length(static_cast<uint16_t>(frame.udp.length.load() + 2));
        frame.udp.length = frame.ipv6.payload_length = length;
      }
      break;
    case Bad::jumbo:
      break;
    case Bad::fragment: {
      frame.ipv6.next_header = kFragmentHeader;
      uint8_t* const fragment = packet->data + wire::kEthernetSize + wire::kIpv6Size;
      const uint32_t offset = below(2) * 8;
      fragment[0] = wire::kProtocolUdp, fragment[1] = 0, fragment[2] = 0;
      fragment[3] = static_cast<uint8_t>(offset | 1);  // more follow
      break;
    }
    case Bad::wrong_epoch:
      h.epoch = static_cast<uint8_t>(stripe.epoch + 1 + below(254));
      break;
    case Bad::wrong_source:
      frame.ipv6.src_addr[15] ^= static_cast<uint8_t>(1 + below(255));
      frame.ipv6.src_addr[7] ^= static_cast<uint8_t>(1 + below(255));
      break;
    case Bad::truncated:
      packet->size = static_cast<uint32_t>(wire::kEthernetSize) +
                     below(packet->size - static_cast<uint32_t>(wire::kEthernetSize));
      break;
    case Bad::garbage:
      packet->size = 14 + below(std::min(room, 1514u) - 14);
      for (uint32_t i = 12; i < packet->size; ++i) packet->data[i] = static_cast<uint8_t>(random_());
      if (below(2) && packet->size > 14)
        packet->data[12] = 0x86, packet->data[13] = 0xdd, packet->data[14] = 0x60;
      break;
  }
}

}  // namespace l3dml::gen
