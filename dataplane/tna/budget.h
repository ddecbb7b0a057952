// Places a program on a chip, stage by stage, and says what does not fit. An estimate by the chip's published
// rules: a register lives in one stage with a stateful ALU of its own, what reads a field comes a stage after
// what wrote it, tables may be spread over stages. A compiler's placement has the last word, but what is
// refused here fits nowhere. Pure functions; used by the switch's --budget and at its start.
//
// Memory: a cell array takes its bits in SRAM plus a spare block, and as many map RAMs; an exact table 1024
// rows a block, up to 90 % full, entries packed into 128-bit rows; a ternary or prefix table 44-bit by
// 512-row blocks of TCAM; action parameters beyond 32 bits rows of their own.
#pragma once

#include <string>
#include <vector>

#include "dataplane/tna/chip.h"
#include "dataplane/tna/resources.h"

namespace l3dml::tna {

// What one pipe of a device shall hold.
struct PipeSizes {
  std::map<std::string, uint32_t> parameters;  // of the program; those not named are its own
  unsigned lanes = 0;                          // 0: the program's own
};

struct Use {
  unsigned stateful_alus = 0, counter_alus = 0, srams = 0, map_rams = 0, tcams = 0, logical_tables = 0;
  friend bool operator==(const Use&, const Use&) = default;
};

struct StageBudget {
  Use use;
  std::vector<std::string> names;  // of what lies here
};

struct Budget {
  std::string program;
  Chip chip;
  unsigned lanes = 0;
  std::vector<StageBudget> stages;
  unsigned phv_bits = 0, phv_words = 0, carried_bits = 0;
  std::vector<PacketPasses> passes;
  std::vector<std::string> problems;  // resource, what is asked, what there is; empty: it fits

  bool fits() const { return problems.empty(); }
  Use total() const;
  std::string text() const;
};

Budget place(const ProgramResources& program, const Chip& chip, const PipeSizes& sizes = {});

}  // namespace l3dml::tna
