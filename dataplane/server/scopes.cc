#include "dataplane/server/scopes.h"

#include <bit>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

constexpr uint32_t kAll = 0xffff;

}  // namespace

absl::StatusOr<Scopes> Scopes::from(const bfrt_proto::Mode& mode, unsigned pipes) {
  Scopes out(pipes);
  const uint32_t every = out.masks_[0];
  if (mode.scope_case() != bfrt_proto::Mode::kUserDefined) {
    if (mode.predef() == bfrt_proto::Mode::ALL) return out;
    if (mode.predef() != bfrt_proto::Mode::SINGLE) return absl::InvalidArgumentError("unknown pipe scope");
    out.masks_.clear();
    for (unsigned pipe = 0; pipe < pipes; ++pipe) out.masks_.push_back(1u << pipe);
    return out;
  }
  // One byte a scope, each a bitmap of pipes.
  out.masks_.clear();
  uint32_t seen = 0;
  for (uint64_t rest = mode.user_defined(); rest != 0; rest >>= 8) {
    const auto mask = static_cast<uint32_t>(rest & 0xff);
    if (mask == 0) continue;
    if ((mask & ~every) != 0 || (mask & seen) != 0) {
      return absl::InvalidArgumentError(
          concat("pipe scopes must be disjoint and of the ", pipes, " pipes this device has"));
    }
    seen |= mask;
    out.masks_.push_back(mask);
  }
  if (seen != every) return absl::InvalidArgumentError("every pipe needs a scope");
  return out;
}

unsigned Scopes::lowest_pipe(unsigned scope) const {
  return static_cast<unsigned>(std::countr_zero(masks_[scope]));
}

absl::StatusOr<unsigned> Scopes::of(uint32_t pipe) const {
  if (pipe == kAll) {
    if (single()) return 0u;
    return absl::InvalidArgumentError("the pipes have entries of their own: name one pipe");
  }
  for (unsigned scope = 0; scope < count(); ++scope) {
    if (pipe < pipes_ && (masks_[scope] >> pipe & 1) != 0) return scope;
  }
  return absl::InvalidArgumentError(concat("pipe ", pipe, " is not below ", pipes_));
}

absl::StatusOr<std::pair<unsigned, unsigned>> Scopes::covered(uint32_t pipe) const {
  if (pipe == kAll) return std::pair(0u, count());
  absl::StatusOr<unsigned> scope = of(pipe);
  if (!scope.ok()) return scope.status();
  return std::pair(*scope, *scope + 1);
}

}  // namespace l3dml::server
