// A port behind an emulated link of its own: the access line of a host on a tap. What arrives at the real
// port crosses one direction before the switch sees it, what the switch sends crosses the other before it
// leaves. Threads: the real port's worker.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "dataplane/base/limits.h"
#include "dataplane/io/link.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

class ShapedPort final : public Port {
 public:
  // `in` carries what the real port receives, `out` what it will send; both outlive the port.
  ShapedPort(std::unique_ptr<Port> real, Link& in, Link& out)
      : Port(real->name(), real->wants_checksum()), real_(std::move(real)), in_(in), out_(out) {}

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override {
    std::array<base::Packet*, base::kBurst> burst;
    for (unsigned count = base::kBurst; count == base::kBurst;) {
      count = out_.take(burst.data(), base::kBurst, now_ns);
      if (count != 0) real_->tx_burst({burst.data(), count}, now_ns);
    }
    const unsigned arrived = real_->rx_burst(burst.data(), base::kBurst, now_ns);
    for (unsigned i = 0; i < arrived; ++i) in_.offer(burst[i], now_ns);
    more_ = arrived == base::kBurst;
    return in_.take(packets, room, now_ns);
  }
  void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) override {
    for (base::Packet* packet : packets) out_.offer(packet, now_ns);
  }
  PortStats stats() const override { return real_->stats(); }
  bool link_up() const override { return real_->link_up() && in_.parameters().up; }
  int64_t next_deadline_ns() const override {
    if (more_) return 0;
    return std::min({in_.next_deadline(), out_.next_deadline(), real_->next_deadline_ns()});
  }
  int wake_fd() const override { return real_->wake_fd(); }
  bool needs_wake_fd() const override { return real_->needs_wake_fd(); }
  void wake() override { real_->wake(); }
  bool waits_for_wake() const override { return real_->waits_for_wake(); }
  bool arm() override { return real_->arm(); }
  void disarm() override { real_->disarm(); }

 private:
  std::unique_ptr<Port> real_;
  Link& in_;
  Link& out_;
  bool more_ = false;  // the last burst was full, so the real port may hold more
};

}  // namespace l3dml::io
