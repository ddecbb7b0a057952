#include "dataplane/server/idle_timer.h"

#include <algorithm>

#include "dataplane/base/clock.h"

namespace l3dml::server {

void IdleTimer::configure(const bfrt_proto::IdleTable& config) {
  if (!config.enable()) {
    switch_off();
    return;
  }
  mode_ =
      config.idle_table_mode() == bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE ? Mode::notify : Mode::poll;
  query_ns_ = config.ttl_query_interval() * base::kMillisecond;
  max_ttl_ms_ = config.max_ttl();
  next_sweep_ns_ = 0;
}

void IdleTimer::start(tna::Handle handle, uint64_t ttl_ms, int64_t now_ns) {
  if (ttl_ms == 0) {
    stop(handle);
    return;
  }
  const auto ttl_ns = static_cast<int64_t>(ttl_ms) * base::kMillisecond;
  entries_[handle] = Timed{.ttl_ns = ttl_ns, .deadline_ns = now_ns + ttl_ns};
}

std::vector<tna::Handle> IdleTimer::watched() const {
  std::vector<tna::Handle> out;
  out.reserve(entries_.size());
  for (const auto& [handle, timed] : entries_) out.push_back(handle);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<IdleTimer::Event> IdleTimer::sweep(int64_t now_ns, const std::vector<tna::Handle>& watched,
                                               const std::vector<bool>& hits) {
  next_sweep_ns_ = now_ns + query_ns_;
  std::vector<Event> events;
  for (size_t i = 0; i < watched.size(); ++i) {
    Timed& timed = entries_.at(watched[i]);
    if (hits[i]) {
      timed.deadline_ns = now_ns + timed.ttl_ns;
      if (timed.idle) events.push_back({watched[i], true});
      timed.idle = false;
    } else if (!timed.idle && now_ns >= timed.deadline_ns) {
      timed.idle = true;
      events.push_back({watched[i], false});
    }
  }
  return events;
}

bool IdleTimer::idle(tna::Handle handle) const {
  const auto found = entries_.find(handle);
  return found != entries_.end() && found->second.idle;
}

uint64_t IdleTimer::remaining_ms(tna::Handle handle, int64_t now_ns) const {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.idle || now_ns >= found->second.deadline_ns) return 0;
  const int64_t left_ns = found->second.deadline_ns - now_ns;
  return static_cast<uint64_t>((left_ns + base::kMillisecond - 1) / base::kMillisecond);
}

}  // namespace l3dml::server
