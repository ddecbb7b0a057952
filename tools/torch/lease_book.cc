#include "tools/torch/lease_book.h"

#include <limits>

#include <fmt/format.h>
#include <unistd.h>

namespace l3dml::pytorch {
namespace {

struct Parsed {
  std::string_view state, pid, host;
};

Parsed parse(std::string_view lease) {
  Parsed parsed;
  const auto word = [&] {
    const size_t end = lease.find(' ');
    const std::string_view first = lease.substr(0, end);
    lease = end == std::string_view::npos ? std::string_view() : lease.substr(end + 1);
    return first;
  };
  parsed.state = word();
  word();  // counter
  parsed.pid = word();
  parsed.host = lease;
  return parsed;
}

}  // namespace

std::string format_lease(LeaseState state, uint64_t counter) {
  static constexpr const char* kStates[] = {"alive", "closing", "left"};
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return fmt::format("{} {} {} {}", kStates[static_cast<int>(state)], counter, getpid(), host);
}

LeaseBook::LeaseBook(int rank, int size, int64_t expiry_ns, int64_t now_ns)
    : rank_(rank), expiry_ns_(expiry_ns), peers_(static_cast<size_t>(size), Peer{{}, now_ns}) {}

void LeaseBook::observe(int rank, std::string_view lease, int64_t now_ns) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  if (lease.empty() || peer.lease == lease) return;
  peer = {std::string(lease), now_ns};
}

void LeaseBook::forgive(int64_t now_ns) {
  for (Peer& peer : peers_) peer.changed_ns = now_ns;
}

std::optional<std::string> LeaseBook::lost(int64_t now_ns) const {
  for (size_t r = 0; r < peers_.size(); ++r) {
    const Peer& peer = peers_[r];
    if (static_cast<int>(r) == rank_ || now_ns - peer.changed_ns < expiry_ns_) continue;
    const double seconds = static_cast<double>(now_ns - peer.changed_ns) * 1e-9;
    if (peer.lease.empty())
      return fmt::format("rank {} never appeared: no lease within {:.1f} s", r, seconds);
    const Parsed parsed = parse(peer.lease);
    if (parsed.state == "alive")
      return fmt::format("rank {} (pid {} on {}) is gone: its lease was last renewed {:.1f} s ago", r,
                         parsed.pid, parsed.host, seconds);
    return fmt::format("rank {} (pid {} on {}) has left the group", r, parsed.pid, parsed.host);
  }
  return std::nullopt;
}

bool LeaseBook::all_closing() const { return all_closing_or_lost(std::numeric_limits<int64_t>::min()); }

bool LeaseBook::all_closing_or_lost(int64_t now_ns) const {
  for (size_t r = 0; r < peers_.size(); ++r) {
    if (static_cast<int>(r) == rank_ || now_ns >= peers_[r].changed_ns + expiry_ns_) continue;
    const std::string_view state = parse(peers_[r].lease).state;
    if (state != "closing" && state != "left") return false;
  }
  return true;
}

}  // namespace l3dml::pytorch
