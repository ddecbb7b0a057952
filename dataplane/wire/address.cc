#include "dataplane/wire/address.h"

#include <cstdio>

#include <arpa/inet.h>

namespace l3dml::wire {

Ipv6Address to_address(const Place& p) {
  Ipv6Address a{};
  for (int i = 0; i < 6; ++i) a[i] = static_cast<uint8_t>(p.prefix >> (40 - 8 * i));
  a[6] = static_cast<uint8_t>(p.locator >> 8);
  a[7] = static_cast<uint8_t>(p.locator);
  a[8] = static_cast<uint8_t>(p.function);
  a[9] = p.path;
  a[10] = static_cast<uint8_t>(p.job >> 8);
  a[11] = static_cast<uint8_t>(p.job);
  a[12] = static_cast<uint8_t>(p.child >> 8);
  a[13] = static_cast<uint8_t>(p.child);
  a[14] = static_cast<uint8_t>(p.low >> 8);
  a[15] = static_cast<uint8_t>(p.low);
  return a;
}

Place to_place(const Ipv6Address& a) {
  Place p;
  for (int i = 0; i < 6; ++i) p.prefix = p.prefix << 8 | a[i];
  p.locator = address_word(a, 3);
  p.function = static_cast<Function>(a[8]);
  p.path = a[9];
  p.job = address_word(a, 5);
  p.child = address_word(a, 6);
  p.low = address_word(a, 7);
  return p;
}

Ipv6Address aggregation_address(uint64_t prefix, uint16_t locator, uint8_t path, uint16_t job,
                                uint16_t child) {
  return to_address({prefix, locator, Function::aggregate, path, job, child, 0});
}

Ipv6Address host_address(uint64_t prefix, uint16_t locator, uint32_t host) {
  return to_address({prefix, locator, Function::host, 0, 0, static_cast<uint16_t>(host >> 16),
                     static_cast<uint16_t>(host)});
}

std::string format_address(const Ipv6Address& address) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

bool parse_address(const std::string& text, Ipv6Address* address) {
  return inet_pton(AF_INET6, text.c_str(), address->data()) == 1;
}

std::string format_mac(const MacAddress& m) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
  return text;
}

bool parse_mac(const std::string& text, MacAddress* mac) {
  unsigned v[6];
  char rest;
  if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5],
                  &rest) != 6)
    return false;
  for (int i = 0; i < 6; ++i) (*mac)[i] = static_cast<uint8_t>(v[i]);
  return true;
}

}  // namespace l3dml::wire
