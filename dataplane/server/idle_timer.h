// Ages the entries of one match table: an entry that was not hit for its time to live is idle until it is hit
// again. Knows no table and no clock; it is told the time and who was hit. Used under the driver's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bfruntime.pb.h"
#include "dataplane/tna/twin.h"

namespace l3dml::server {

class IdleTimer {
 public:
  enum class Mode : uint8_t { off, poll, notify };
  struct Event {
    tna::Handle handle;
    bool active;  // false: it went idle
  };

  void configure(const bfrt_proto::IdleTable& config);
  void switch_off() { *this = {}; }
  Mode mode() const { return mode_; }
  uint32_t max_ttl_ms() const { return max_ttl_ms_; }  // 0: no limit

  void start(tna::Handle handle, uint64_t ttl_ms, int64_t now_ns);  // again, too; ttl 0: never idle
  void stop(tna::Handle handle) { entries_.erase(handle); }

  bool due(int64_t now_ns) const { return mode_ == Mode::notify && now_ns >= next_sweep_ns_; }
  std::vector<tna::Handle> watched() const;  // the entries that sweep() wants to know about, ascending
  // `hits[i]`: was watched()[i] hit since the last sweep? Returns what changed, in that order.
  std::vector<Event> sweep(int64_t now_ns, const std::vector<tna::Handle>& watched,
                           const std::vector<bool>& hits);

  bool idle(tna::Handle handle) const;
  uint64_t remaining_ms(tna::Handle handle, int64_t now_ns) const;  // 0: idle, or not watched

 private:
  struct Timed {
    int64_t ttl_ns;
    int64_t deadline_ns;
    bool idle = false;
  };
  Mode mode_ = Mode::off;
  int64_t query_ns_ = 0;  // how often hits are looked for
  int64_t next_sweep_ns_ = 0;
  uint32_t max_ttl_ms_ = 0;
  absl::flat_hash_map<tna::Handle, Timed> entries_;
};

}  // namespace l3dml::server
