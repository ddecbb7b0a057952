// Addresses as the control plane hands them out: place of aggregation in the address, hosts as /128.
//
// IPv6: 48 prefix | 16 locator (8 region, 8 site) | 8 function | 8 path | 16 job | 16 child | 16 zero.
// control/ never includes a dataplane header, so this is its own statement of the layout; the lab's contract
// test compares it with dataplane/wire/address.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace l3dml::control {

using Ipv6 = std::array<uint8_t, 16>;
using Mac = std::array<uint8_t, 6>;

enum class Function : uint8_t { host = 0, aggregate = 1, transit = 2 };

constexpr uint16_t kChildParent = 0xffff;        // an inner aggregator as the receiver of results
constexpr uint16_t kChildSwitch = 0xfffe;        // a switch as the sender
constexpr uint64_t kUlaPrefix = 0xfd4c33444d4c;  // fd4c:3344:4d4c::/48, the lab's administration

Ipv6 host_address(uint64_t prefix, uint16_t locator, uint32_t host);
Ipv6 aggregation_address(uint64_t prefix, uint16_t locator, uint8_t path, uint16_t job, uint16_t child);
Ipv6 site_prefix(uint64_t prefix, uint16_t locator);                         // /64
Ipv6 function_prefix(uint64_t prefix, uint16_t locator, Function function);  // /72

// 10.region.site.host; hosts are numbered 1..253, .254 is the site's gateway.
uint32_t host_address4(uint16_t locator, uint32_t host);
uint32_t gateway_address4(uint16_t locator);
Ipv6 gateway_address6();  // fe80::1, the same on every edge

Mac switch_mac(uint16_t locator);              // 02:4c:33:00:region:site
Mac host_mac(uint16_t locator, uint8_t host);  // 02:4c:33:host:region:site

std::string text(const Ipv6& address);
std::string text4(uint32_t address);
std::string text(const Mac& mac);

}  // namespace l3dml::control
