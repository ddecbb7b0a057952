#include "dataplane/pipeline/local_stack.h"

#include <algorithm>
#include <cstring>

namespace l3dml::pipeline {
namespace {

using base::DropReason;
using wire::Ipv6Address;
using wire::MacAddress;

constexpr size_t kIcmpAt6 = wire::kEthernetSize + wire::kIpv6Size;  // offset of ICMPv6 in a frame
constexpr size_t kIpAt = wire::kEthernetSize;
constexpr uint8_t kSolicitation = 135, kAdvertisement = 136, kEcho6 = 128, kEchoReply6 = 129, kEcho4 = 8;
constexpr size_t kMaxNeighbors = 65536;
constexpr size_t kMaxQuote6 = 1232, kQuote4 = 28;  // bytes of the offending packet that an error quotes

uint16_t load16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
uint32_t load32(const uint8_t* p) { return uint32_t{load16(p)} << 16 | load16(p + 2); }
void store16(uint8_t* p, uint32_t v) { p[0] = static_cast<uint8_t>(v >> 8), p[1] = static_cast<uint8_t>(v); }
void store32(uint8_t* p, uint32_t v) { store16(p, v >> 16), store16(p + 2, v); }

uint32_t add_bytes(uint32_t sum, const uint8_t* p, size_t size) {
  for (size_t i = 0; i + 1 < size; i += 2) sum += load16(p + i);
  if (size & 1) sum += static_cast<uint32_t>(p[size - 1] << 8);
  return sum;
}
uint16_t fold(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}
void write_icmp6_checksum(uint8_t* frame, size_t icmp_size) {
  uint8_t* icmp = frame + kIcmpAt6;
  store16(icmp + 2, 0);
  uint32_t sum = add_bytes(static_cast<uint32_t>(icmp_size) + wire::kProtocolIcmpv6, frame + kIpAt + 8,
                           32);  // both addresses
  store16(icmp + 2, fold(add_bytes(sum, icmp, icmp_size)));
}
void write_ipv4_checksum(uint8_t* ip) {
  store16(ip + 10, 0);
  store16(ip + 10, fold(add_bytes(0, ip, 20)));
}
Ipv6Address address_at(const uint8_t* p) {
  Ipv6Address a;
  std::memcpy(a.data(), p, 16);
  return a;
}
MacAddress mac_at(const uint8_t* p) {
  MacAddress m;
  std::memcpy(m.data(), p, 6);
  return m;
}
Ipv6Address link_local(const MacAddress& m) {
  return {0xfe, 0x80, 0,    0,    0,    0,    0,   0, static_cast<uint8_t>(m[0] ^ 2),
          m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
}
void write_ethernet(uint8_t* frame, const MacAddress& dst, const MacAddress& src, uint16_t type) {
  std::memcpy(frame, dst.data(), 6);
  std::memcpy(frame + 6, src.data(), 6);
  store16(frame + 12, type);
}
void write_ipv6(uint8_t* frame, size_t payload, const Ipv6Address& src, const Ipv6Address& dst,
                uint8_t hop_limit) {
  uint8_t* ip = frame + kIpAt;
  store32(ip, 6u << 28);
  store16(ip + 4, static_cast<uint32_t>(payload));
  ip[6] = wire::kProtocolIcmpv6;
  ip[7] = hop_limit;
  std::memcpy(ip + 8, src.data(), 16);
  std::memcpy(ip + 24, dst.data(), 16);
}

}  // namespace

bool LocalStack::allow(int64_t now_ns) {
  const int64_t elapsed_ms = (now_ns - answers_refilled_ns_) / base::kMillisecond;
  if (elapsed_ms > 0) {
    answers_ = static_cast<int>(std::min<int64_t>(256, answers_ + elapsed_ms));
    answers_refilled_ns_ = now_ns;
  }
  return answers_ > 0 && answers_-- > 0;
}

DropReason LocalStack::reply(base::Packet* packet, uint16_t port, Outbox& out) {
  if (port >= program_.ports.size() || !program_.ports[port].up) {
    base::release(packet);
    return DropReason::port_down;
  }
  out.send(packet, port);
  return DropReason::none;
}

const MacAddress* LocalStack::resolve6(const Ipv6Address& address, uint16_t port, int64_t now_ns,
                                       Outbox& out) {
  const auto it = neighbors6_.find(address);
  if (it != neighbors6_.end()) return &it->second;
  base::Packet* question = allow(now_ns) ? pool_->alloc() : nullptr;
  if (!question) return nullptr;
  const Ipv6Address group = {0xff, 2, 0, 0, 0,    0,           0,           0,
                             0,    0, 0, 1, 0xff, address[13], address[14], address[15]};
  uint8_t* frame = question->data;
  write_ethernet(frame, {0x33, 0x33, 0xff, address[13], address[14], address[15]}, program_.config.mac,
                 wire::kEtherTypeIpv6);
  write_ipv6(frame, 32, link_local(program_.config.mac), group, 255);
  uint8_t* icmp = frame + kIcmpAt6;
  std::memset(icmp, 0, 32);
  icmp[0] = kSolicitation;
  std::memcpy(icmp + 8, address.data(), 16);
  icmp[24] = 1, icmp[25] = 1;  // option: source link-layer address
  std::memcpy(icmp + 26, program_.config.mac.data(), 6);
  write_icmp6_checksum(frame, 32);
  question->size = kIcmpAt6 + 32;
  (void)reply(question, port, out);
  return nullptr;
}

const MacAddress* LocalStack::resolve4(uint32_t address, uint16_t port, int64_t now_ns, Outbox& out) {
  const auto it = neighbors4_.find(address);
  if (it != neighbors4_.end()) return &it->second;
  const uint32_t* own = program_.forwarder.own_address4();
  base::Packet* question = own && allow(now_ns) ? pool_->alloc() : nullptr;
  if (!question) return nullptr;
  uint8_t* frame = question->data;
  write_ethernet(frame, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, program_.config.mac, wire::kEtherTypeArp);
  uint8_t* arp = frame + kIpAt;
  std::memset(arp, 0, 28);
  store16(arp, 1), store16(arp + 2, wire::kEtherTypeIpv4), arp[4] = 6, arp[5] = 4, store16(arp + 6, 1);
  std::memcpy(arp + 8, program_.config.mac.data(), 6);
  store32(arp + 14, *own);
  store32(arp + 24, address);
  question->size = wire::kEthernetSize + 28;
  (void)reply(question, port, out);
  return nullptr;
}

DropReason LocalStack::arp(base::Packet* packet, int64_t now_ns, Outbox& out) {
  uint8_t* arp = packet->data + kIpAt;
  const bool ethernet_ipv4 =
      load16(arp) == 1 && load16(arp + 2) == wire::kEtherTypeIpv4 && arp[4] == 6 && arp[5] == 4;
  const uint32_t sender = load32(arp + 14), target = load32(arp + 24);
  if (ethernet_ipv4 && sender != 0 && neighbors4_.size() < kMaxNeighbors)
    neighbors4_[sender] = mac_at(arp + 8);
  DropReason reason = DropReason::consumed;
  if (ethernet_ipv4 && load16(arp + 6) == 1 &&
      program_.forwarder.lookup4(target, pipe_).kind == blocks::Route::Kind::local) {
    if (allow(now_ns)) {
      const MacAddress asker = mac_at(arp + 8);
      write_ethernet(packet->data, asker, program_.config.mac, wire::kEtherTypeArp);
      store16(arp + 6, 2);
      std::memcpy(arp + 18, arp + 8, 10);
      std::memcpy(arp + 8, program_.config.mac.data(), 6);
      store32(arp + 14, target);
      return reply(packet, packet->port, out);
    }
    reason = DropReason::policed;
  }
  base::release(packet);
  return reason;
}

bool LocalStack::is_neighbor_discovery(const wire::Head& head, uint32_t size) {
  const uint8_t* icmp = reinterpret_cast<const uint8_t*>(&head) + kIcmpAt6;
  return head.ipv6.next_header == wire::kProtocolIcmpv6 && size >= kIcmpAt6 + 24 &&
         head.ipv6.hop_limit == 255 && (icmp[0] == kSolicitation || icmp[0] == kAdvertisement);
}

DropReason LocalStack::neighbor_discovery(base::Packet* packet, int64_t now_ns, Outbox& out) {
  uint8_t* frame = packet->data;
  uint8_t* icmp = frame + kIcmpAt6;
  const Ipv6Address source = address_at(frame + kIpAt + 8), target = address_at(icmp + 8);
  const uint8_t option = icmp[0] == kSolicitation ? 1 : 2;  // source or target link-layer address
  const bool has_option = packet->size >= kIcmpAt6 + 32 && icmp[24] == option && icmp[25] == 1;
  const Ipv6Address& owner = icmp[0] == kSolicitation ? source : target;
  if (has_option && owner != Ipv6Address{} && neighbors6_.size() < kMaxNeighbors)
    neighbors6_[owner] = mac_at(icmp + 26);
  DropReason reason = DropReason::consumed;
  const blocks::Forwarder::Row6* row = nullptr;
  const bool ours = program_.forwarder.lookup6(target, pipe_, &row).kind == blocks::Route::Kind::local ||
                    target == link_local(program_.config.mac);
  if (icmp[0] == kSolicitation && ours) {
    if (allow(now_ns)) {
      const bool probing = source == Ipv6Address{};  // duplicate address detection: answer everybody
      const Ipv6Address all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
      write_ethernet(frame, probing ? MacAddress{0x33, 0x33, 0, 0, 0, 1} : mac_at(frame + 6),
                     program_.config.mac, wire::kEtherTypeIpv6);
      write_ipv6(frame, 32, target, probing ? all_nodes : source, 255);
      icmp[0] = kAdvertisement, icmp[1] = 0;
      store32(icmp + 4, probing ? 0xa0000000 : 0xe0000000);  // router, solicited, override
      icmp[24] = 2, icmp[25] = 1;
      std::memcpy(icmp + 26, program_.config.mac.data(), 6);
      write_icmp6_checksum(frame, 32);
      packet->size = kIcmpAt6 + 32;
      return reply(packet, packet->port, out);
    }
    reason = DropReason::policed;
  }
  base::release(packet);
  return reason;
}

DropReason LocalStack::local6(base::Packet* packet, int64_t now_ns, Outbox& out) {
  uint8_t* frame = packet->data;
  uint8_t* icmp = frame + kIcmpAt6;
  const size_t payload = load16(frame + kIpAt + 4);
  DropReason reason = DropReason::consumed;
  const bool echo = frame[kIpAt + 6] == wire::kProtocolIcmpv6 && payload >= 8 &&
                    packet->size >= kIcmpAt6 + payload && icmp[0] == kEcho6;
  if (echo) {
    if (allow(now_ns)) {
      const Ipv6Address asker = address_at(frame + kIpAt + 8), own = address_at(frame + kIpAt + 24);
      write_ethernet(frame, mac_at(frame + 6), program_.config.mac, wire::kEtherTypeIpv6);
      write_ipv6(frame, payload, own, asker, 64);
      icmp[0] = kEchoReply6;
      write_icmp6_checksum(frame, payload);
      packet->size = static_cast<uint32_t>(kIcmpAt6 + payload);
      return reply(packet, packet->port, out);
    }
    reason = DropReason::policed;
  }
  base::release(packet);
  return reason;
}

DropReason LocalStack::local4(base::Packet* packet, int64_t now_ns, Outbox& out) {
  uint8_t* ip = packet->data + kIpAt;
  const size_t header = (ip[0] & 15) * 4u, total = load16(ip + 2);
  uint8_t* icmp = ip + header;
  DropReason reason = DropReason::consumed;
  if (header == 20 && ip[9] == wire::kProtocolIcmp && total >= 28 && packet->size >= kIpAt + total &&
      icmp[0] == kEcho4) {
    if (allow(now_ns)) {
      write_ethernet(packet->data, mac_at(packet->data + 6), program_.config.mac, wire::kEtherTypeIpv4);
      std::swap_ranges(ip + 12, ip + 16, ip + 16);
      ip[8] = 64;
      write_ipv4_checksum(ip);
      icmp[0] = 0;
      store16(icmp + 2, 0);
      store16(icmp + 2, fold(add_bytes(0, icmp, total - 20)));
      packet->size = static_cast<uint32_t>(kIpAt + total);
      return reply(packet, packet->port, out);
    }
    reason = DropReason::policed;
  }
  base::release(packet);
  return reason;
}

DropReason LocalStack::error6(base::Packet* packet, uint8_t type, uint8_t code, DropReason reason,
                              int64_t now_ns, Outbox& out) {
  const uint8_t* ip = packet->data + kIpAt;
  const Ipv6Address* own = program_.forwarder.own_address6();
  // RFC 4443 2.4 (e): no errors about errors, nor to or about multicast, nor to nobody.
  const bool about_error = ip[6] == wire::kProtocolIcmpv6 && packet->size > kIcmpAt6 && ip[40] < 128;
  const Ipv6Address source = address_at(ip + 8);
  base::Packet* error = nullptr;
  if (own && !about_error && ip[24] != 0xff && source[0] != 0xff && source != Ipv6Address{} && allow(now_ns))
    error = pool_->alloc();
  if (error) {
    const size_t room = error->capacity - static_cast<size_t>(error->data - error->buffer) - kIcmpAt6 - 8;
    const size_t quote = std::min({size_t{packet->size} - kIpAt, kMaxQuote6, room});
    write_ethernet(error->data, mac_at(packet->data + 6), program_.config.mac, wire::kEtherTypeIpv6);
    write_ipv6(error->data, 8 + quote, *own, source, 64);
    uint8_t* icmp = error->data + kIcmpAt6;
    std::memset(icmp, 0, 8);
    icmp[0] = type, icmp[1] = code;
    std::memcpy(icmp + 8, ip, quote);
    write_icmp6_checksum(error->data, 8 + quote);
    error->size = static_cast<uint32_t>(kIcmpAt6 + 8 + quote);
    (void)reply(error, packet->port, out);
  }
  base::release(packet);
  return reason;
}

DropReason LocalStack::error4(base::Packet* packet, uint8_t type, uint8_t code, DropReason reason,
                              int64_t now_ns, Outbox& out) {
  const uint8_t* ip = packet->data + kIpAt;
  const uint32_t* own = program_.forwarder.own_address4();
  const bool about_icmp = ip[9] == wire::kProtocolIcmp && packet->size > kIpAt + 20 && ip[20] != kEcho4;
  base::Packet* error = nullptr;
  if (own && !about_icmp && (load16(ip + 6) & 0x1fff) == 0 && ip[16] < 224 && allow(now_ns))
    error = pool_->alloc();
  if (error) {
    const size_t quote = std::min<size_t>(packet->size - kIpAt, kQuote4);
    write_ethernet(error->data, mac_at(packet->data + 6), program_.config.mac, wire::kEtherTypeIpv4);
    uint8_t* reply_ip = error->data + kIpAt;
    std::memset(reply_ip, 0, 28);
    reply_ip[0] = 0x45, reply_ip[8] = 64, reply_ip[9] = wire::kProtocolIcmp;
    store16(reply_ip + 2, static_cast<uint32_t>(28 + quote));
    store32(reply_ip + 12, *own);
    std::memcpy(reply_ip + 16, ip + 12, 4);
    write_ipv4_checksum(reply_ip);
    uint8_t* icmp = reply_ip + 20;
    icmp[0] = type, icmp[1] = code;
    std::memcpy(icmp + 8, ip, quote);
    store16(icmp + 2, fold(add_bytes(0, icmp, 8 + quote)));
    error->size = static_cast<uint32_t>(kIpAt + 28 + quote);
    (void)reply(error, packet->port, out);
  }
  base::release(packet);
  return reason;
}

}  // namespace l3dml::pipeline
