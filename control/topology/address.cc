#include "control/topology/address.h"

#include <cstdio>

#include <arpa/inet.h>

namespace l3dml::control {
namespace {

Ipv6 place(uint64_t prefix, uint16_t locator, Function function, uint8_t path) {
  Ipv6 a{};
  for (int i = 0; i < 6; ++i) a[i] = static_cast<uint8_t>(prefix >> (40 - 8 * i));
  a[6] = static_cast<uint8_t>(locator >> 8);
  a[7] = static_cast<uint8_t>(locator);
  a[8] = static_cast<uint8_t>(function);
  a[9] = path;
  return a;
}

Mac locator_mac(uint8_t host, uint16_t locator) {
  return {0x02, 0x4c, 0x33, host, static_cast<uint8_t>(locator >> 8), static_cast<uint8_t>(locator)};
}

}  // namespace

Ipv6 host_address(uint64_t prefix, uint16_t locator, uint32_t host) {
  Ipv6 a = place(prefix, locator, Function::host, 0);
  for (int i = 0; i < 4; ++i) a[12 + i] = static_cast<uint8_t>(host >> (24 - 8 * i));
  return a;
}

Ipv6 aggregation_address(uint64_t prefix, uint16_t locator, uint8_t path, uint16_t job, uint16_t child) {
  Ipv6 a = place(prefix, locator, Function::aggregate, path);
  a[10] = static_cast<uint8_t>(job >> 8);
  a[11] = static_cast<uint8_t>(job);
  a[12] = static_cast<uint8_t>(child >> 8);
  a[13] = static_cast<uint8_t>(child);
  return a;
}

Ipv6 site_prefix(uint64_t prefix, uint16_t locator) { return place(prefix, locator, Function::host, 0); }

Ipv6 function_prefix(uint64_t prefix, uint16_t locator, Function function) {
  return place(prefix, locator, function, 0);
}

uint32_t host_address4(uint16_t locator, uint32_t host) {
  return 10u << 24 | static_cast<uint32_t>(locator) << 8 | (host & 0xff);
}

uint32_t gateway_address4(uint16_t locator) { return host_address4(locator, 254); }

Ipv6 gateway_address6() {
  Ipv6 a{};
  a[0] = 0xfe;
  a[1] = 0x80;
  a[15] = 1;
  return a;
}

Mac switch_mac(uint16_t locator) { return locator_mac(0, locator); }
Mac host_mac(uint16_t locator, uint8_t host) { return locator_mac(host, locator); }

std::string text(const Ipv6& address) {
  char out[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, address.data(), out, sizeof out);
}

std::string text4(uint32_t address) {
  char out[16];
  std::snprintf(out, sizeof out, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
                address & 255);
  return out;
}

std::string text(const Mac& m) {
  char out[18];
  std::snprintf(out, sizeof out, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
  return out;
}

}  // namespace l3dml::control
