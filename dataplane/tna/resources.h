// What a program asks of a chip, as p4/resources.json says it (derived from the P4 sources): tables and
// actions with their order, registers, counters, bits of a packet, passes. Sizes that a device may choose are
// parameters of the program. Plain data; an unusable text is refused with what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace l3dml::tna {

struct KeyNeed {
  unsigned bits;
  std::string match;  // exact, ternary, lpm, range
};

struct CellNeed {  // a register or a counter
  std::string name;
  unsigned bits = 0;      // of a register's cell
  std::string parameter;  // its size; empty: cells
  uint32_t cells = 0;
};

struct Node {  // a table, actions that are always run, or a condition
  std::string name;
  bool egress = false;
  std::vector<KeyNeed> keys;
  uint32_t entries = 1;
  unsigned action_bits = 0;  // parameters of its largest action
  unsigned actions = 0;      // 0: a condition
  std::vector<size_t> registers, counters;
  bool lane = false;                               // there is one for every two lanes of a packet
  std::vector<std::pair<size_t, unsigned>> after;  // (earlier node, stages between)
};

struct PacketBits {
  bool egress = false;
  unsigned matched = 0, carried = 0, lanes = 0;
};

struct PacketPasses {
  std::string packet;
  unsigned passes = 1;
};

struct ProgramResources {
  std::string name;
  unsigned lanes = 64;                         // the program is written for so many
  std::map<std::string, uint32_t> parameters;  // and for these sizes
  std::vector<CellNeed> registers, counters;
  std::vector<Node> nodes;
  std::vector<PacketBits> packet_bits;
  std::vector<PacketPasses> passes;

  static absl::StatusOr<ProgramResources> parse(std::string_view json);
};

}  // namespace l3dml::tna
