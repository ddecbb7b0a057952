// What the network and the jobs do now: figures over the last interval, from counters and registers of the
// switches and from what members say when they renew. Reads only, each a short pause of one switch's
// pipeline, never with the controller's lock held, so neither traffic nor calls wait for it.
//
//   links       bytes and drops of ports over the interval, what lies in the queue now and at most
//   segments    packets and those found missing; skew: how far a child is behind the first of its siblings,
//               as the packets it is short of at one instant over the rate at which they come
//   aggregators slots that wait for somebody; dwell: how long they do, by Little's law (waiting over rate)
//   members     round trip to the aggregator and time to a result, as the member measures them
//
// Threads: run() on one of its own, now() from any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "control/api/controller.h"

namespace l3dml::control {

struct TelemetryView {
  struct Link {  // one direction: out of a site
    std::string site, name;
    uint32_t port = 0;
    double sent_bps = 0, received_bps = 0;
    double utilisation = 0;  // of the link's rate, outwards; 0 where it is not limited
    double queue_bytes = 0, queue_most_bytes = 0;
    double drops_per_s = 0;
  };
  struct Segment {  // from a child to its aggregator
    std::string job, site, peer;
    uint32_t stripe = 0;
    double packets_per_s = 0, loss = 0, skew_s = 0;
  };
  struct Aggregator {
    std::string job, site;
    uint32_t stripe = 0;
    double waiting_slots = 0, dwell_s = 0;
  };
  struct Member {
    std::string job, host;
    uint32_t rank = 0;
    double round_trip_s = 0, result_s = 0;
  };
  double interval_s = 0;  // that the figures are over; 0: none yet
  std::vector<Link> links;
  std::vector<Segment> segments;
  std::vector<Aggregator> aggregators;
  std::vector<Member> members;
};

class Telemetry {
 public:
  explicit Telemetry(const Controller* controller) : controller_(*controller) {}
  void sample(int64_t now_ns);  // reads everything; figures are those since the last call
  TelemetryView now(const std::string& site) const;  // empty: all

 private:
  struct PortCount {
    uint64_t sent = 0, received = 0, drops = 0;
  };
  struct SegmentCount {
    uint64_t packets = 0, missing = 0;
    uint32_t expected = 0;
  };
  using SegmentKey = std::tuple<std::string, uint32_t, std::string, std::string>;  // job, stripe, site, peer
  void read_ports(const Controller::Watched& watched, double interval_s, TelemetryView* out);
  void read_aggregator(const Controller::Watched& watched, const Controller::Watched::Aggregator& node,
                       double interval_s, TelemetryView* out);

  const Controller& controller_;
  int64_t last_ns_ = -1;
  std::map<std::pair<std::string, uint32_t>, PortCount> ports_;  // by site and port
  std::map<SegmentKey, SegmentCount> segments_;
  mutable std::mutex mutex_;
  TelemetryView now_;
};

}  // namespace l3dml::control
