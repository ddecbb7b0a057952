// Which pipes share the entries of a table: one scope of all pipes (the usual, "symmetric"), one per pipe, or
// any partition that a client made with the entry-scope attribute. A plain value. A Tofino's driver calls the
// same thing a table's pipe scope.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bfruntime.pb.h"

namespace l3dml::server {

class Scopes {
 public:
  explicit Scopes(unsigned pipes) : pipes_(pipes), masks_{(1u << pipes) - 1} {}
  // INVALID_ARGUMENT where the mode is no partition of the pipes.
  static absl::StatusOr<Scopes> from(const bfrt_proto::Mode& mode, unsigned pipes);

  unsigned count() const { return static_cast<unsigned>(masks_.size()); }
  bool single() const { return masks_.size() == 1; }
  uint32_t mask(unsigned scope) const { return masks_[scope]; }  // bit p: pipe p belongs to it
  unsigned lowest_pipe(unsigned scope) const;
  // The scope of a pipe; with all pipes (0xffff) only a table of one scope has an answer.
  absl::StatusOr<unsigned> of(uint32_t pipe) const;
  // [first, last) scopes: all of them with all pipes.
  absl::StatusOr<std::pair<unsigned, unsigned>> covered(uint32_t pipe) const;
  bool operator==(const Scopes&) const = default;

 private:
  unsigned pipes_;
  std::vector<uint32_t> masks_;  // disjoint, together all pipes
};

}  // namespace l3dml::server
