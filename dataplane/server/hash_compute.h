// Dynamic hashing: what a hash of the program would be for given field values, under the configuration that a
// client wrote. `configure` says which bits of which fields enter and in which order, `algorithm` which
// function. The functions are those of the public CRC catalogue; RANDOM, which on a chip is a matrix drawn by
// the compiler, is some fixed function here (DECISIONS 0515). See Table for threads and failure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dataplane/server/table.h"

namespace l3dml::server {

struct Crc {
  unsigned width = 32;  // bits
  uint64_t polynomial = 0;
  uint64_t init = 0;
  bool reflected = false;  // both ways
  uint64_t final_xor = 0;
};

std::optional<Crc> find_crc(std::string_view name);  // as in algorithm_name
uint64_t compute_crc(const Crc& crc, std::string_view bytes);

class HashComputeTable final : public Table {
 public:
  using Table::Table;
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery&, const Emit&) override {
    return absl::OkStatus();
  }  // answers, no entries
  void wipe(WriteContext&) override { forget_attributes(); }

 private:
  std::string message(const Data& configured, const Key& key) const;  // the bits that enter, left-padded
  absl::StatusOr<uint64_t> hash(const Data& algorithm, const TableInfo& info, std::string_view bytes) const;
};

}  // namespace l3dml::server
