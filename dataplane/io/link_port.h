// The two ends of an emulated link as ports: what one end sends, the other receives later, or never.
// Each direction belongs to the worker of its receiving end; a sender on another worker goes through a
// Crossing.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/io/link.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

class LinkPort final : public Port {
 public:
  // `out` carries what this end sends, `in` what it receives; both outlive the port.
  LinkPort(std::string name, Link& out, Link& in) : Port(std::move(name)), out_(out), in_(in) {}

  unsigned rx_burst(base::Packet** packets, unsigned room, int64_t now_ns) override {
    return in_.take(packets, room, now_ns);
  }
  void tx_burst(std::span<base::Packet* const> packets, int64_t now_ns) override {
    for (base::Packet* packet : packets) out_.offer(packet, now_ns);
  }
  PortStats stats() const override {
    const LinkCounters& in = in_.counters();
    const LinkCounters& out = out_.counters();
    return {.rx_packets = in.delivered_packets,
            .rx_bytes = in.delivered_bytes,
            .rx_errors = in.corrupted_packets,
            .tx_packets = out.sent_packets,
            .tx_bytes = out.sent_bytes,
            .tx_drops = out.queue_drops};
  }
  bool link_up() const override { return in_.parameters().up || out_.parameters().up; }
  int64_t next_deadline_ns() const override { return in_.next_deadline(); }
  bool needs_wake_fd() const override { return false; }

  Link& out() { return out_; }

 private:
  Link& out_;
  Link& in_;
};

}  // namespace l3dml::io
