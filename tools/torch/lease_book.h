// Who of the group is still there, from what each rank last wrote about itself; sans-I/O, so tests bring the
// time.
//
// Every rank renews its lease under its own key: "STATE COUNTER PID HOST". A lease whose text has not changed
// for `expiry` has run out; time counts from when *we* saw the change, so clocks of hosts need not agree. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace l3dml::pytorch {

enum class LeaseState { alive, closing, left };

std::string format_lease(LeaseState state, uint64_t counter);  // of this process

class LeaseBook {
 public:
  LeaseBook(int rank, int size, int64_t expiry_ns, int64_t now_ns);

  // What stands under the rank's key; empty: nothing yet, or it could not be read.
  void observe(int rank, std::string_view lease, int64_t now_ns);
  // We did not look for a while (suspended, starved): nobody can be blamed for that time.
  void forgive(int64_t now_ns);

  // One line that names a rank whose lease has run out; the first by number.
  std::optional<std::string> lost(int64_t now_ns) const;
  // Every other rank is closing or has left.
  bool all_closing() const;
  // Or its lease has run out.
  bool all_closing_or_lost(int64_t now_ns) const;

 private:
  struct Peer {
    std::string lease;  // last seen
    int64_t changed_ns = 0;
  };
  int rank_;
  int64_t expiry_ns_;
  std::vector<Peer> peers_;
};

}  // namespace l3dml::pytorch
