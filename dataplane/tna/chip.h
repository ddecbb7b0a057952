// What a pipe of a chip has: the figures of bfrt.md 4.4 and, for Tofino 2, of the open compiler's device
// model.
#pragma once

#include <string_view>

namespace l3dml::tna {

struct Chip {
  std::string_view name;
  unsigned stages;
  // per stage
  unsigned stateful_alus, counter_alus, srams, map_rams, tcams, logical_tables;
  // packet header vector: bits that tables can match and change, 32-bit containers among them, and bits that
  // only pass through
  unsigned phv_bits, phv_words, carried_bits;
  unsigned pipes;
};

constexpr unsigned kSramBits = 128 * 1024;  // 1024 rows
constexpr unsigned kSramRows = 1024;
constexpr unsigned kTcamBits = 44;  // of a row
constexpr unsigned kTcamRows = 512;

constexpr Chip kTofino1 = {.name = "tofino1",
                           .stages = 12,
                           .stateful_alus = 4,
                           .counter_alus = 4,
                           .srams = 80,
                           .map_rams = 48,
                           .tcams = 24,
                           .logical_tables = 16,
                           .phv_bits = 64 * 8 + 96 * 16 + 64 * 32,
                           .phv_words = 64,
                           .carried_bits = 32 * 8 + 48 * 16 + 32 * 32,
                           .pipes = 4};
// Its containers are of three kinds; those that can be parsed are as many as Tofino 1 has, and nothing only
// passes through.
constexpr Chip kTofino2 = {.name = "tofino2",
                           .stages = 20,
                           .stateful_alus = 4,
                           .counter_alus = 4,
                           .srams = 80,
                           .map_rams = 48,
                           .tcams = 24,
                           .logical_tables = 16,
                           .phv_bits = 64 * 8 + 96 * 16 + 64 * 32,
                           .phv_words = 64,
                           .carried_bits = 16 * 8 + 24 * 16 + 16 * 32,
                           .pipes = 4};

// No chip: what the program asks for, wherever it runs.
constexpr unsigned kUnlimited = 1u << 20;
constexpr Chip kNoChip = {.name = "none",
                          .stages = 256,
                          .stateful_alus = kUnlimited,
                          .counter_alus = kUnlimited,
                          .srams = kUnlimited,
                          .map_rams = kUnlimited,
                          .tcams = kUnlimited,
                          .logical_tables = kUnlimited,
                          .phv_bits = kUnlimited,
                          .phv_words = kUnlimited,
                          .carried_bits = kUnlimited,
                          .pipes = 4};

inline const Chip* find_chip(std::string_view name) {
  for (const Chip* chip : {&kTofino1, &kTofino2, &kNoChip})
    if (chip->name == name) return chip;
  return nullptr;
}

}  // namespace l3dml::tna
