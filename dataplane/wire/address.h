// Aggregation addresses (DESIGN section 3): 48 prefix | 16 locator | 8 function | 8 path | 16 job | 16 child
// | 16 zero.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/wire/header.h"

namespace l3dml::wire {

enum class Function : uint8_t { host = 0, aggregate = 1, transit = 2 };

constexpr uint16_t kChildParent = 0xffff;  // an inner aggregator as the receiver of results
constexpr uint16_t kChildSwitch = 0xfffe;  // a switch as the sender

struct Place {
  uint64_t prefix = 0;   // 48 bits
  uint16_t locator = 0;  // 8 region, 8 site
  Function function = Function::host;
  uint8_t path = 0;
  uint16_t job = 0;    // host: high half of nothing, zero
  uint16_t child = 0;  // function host: bits 31..16 of the host's number
  uint16_t low = 0;    // function host: bits 15..0 of the host's number; else zero

  friend bool operator==(const Place&, const Place&) = default;
};

Ipv6Address to_address(const Place& place);
Place to_place(const Ipv6Address& address);
Ipv6Address aggregation_address(uint64_t prefix, uint16_t locator, uint8_t path, uint16_t job,
                                uint16_t child);
Ipv6Address host_address(uint64_t prefix, uint16_t locator, uint32_t host);

// 16-bit field i (0..7) of an address, host order.
inline uint16_t address_word(const Ipv6Address& a, int i) {
  return static_cast<uint16_t>(a[2 * i] << 8 | a[2 * i + 1]);
}

std::string format_address(const Ipv6Address& address);  // RFC 5952
bool parse_address(const std::string& text, Ipv6Address* address);
std::string format_mac(const MacAddress& mac);
bool parse_mac(const std::string& text, MacAddress* mac);

}  // namespace l3dml::wire
