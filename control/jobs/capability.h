// What a device can hold, read from it or from its description; no code asks "is this software?".
#pragma once

#include <cstdint>
#include <string>

namespace l3dml::control {

struct Capability {
  std::string name = "software";
  uint32_t pipes = 1;             // a power of two
  uint32_t slots = 16384;         // ring entries per pipe, a power of two
  uint32_t lanes = 256;           // per slot
  uint32_t lanes_per_pass = 320;  // 64 on Tofino 1: more lanes are more passes
  uint32_t neighbors = 1024;      // (stripe, neighbour) pairs
  uint32_t seq_entries = 262144;  // seq -> number entries per pipe, a power of two
  uint32_t jobs = 256;            // stripes at a time
  uint32_t groups = 4096;         // multicast groups
};

}  // namespace l3dml::control
