// What a job sends and receives through. One thread uses it, the job's I/O thread, except wake().
// UdpTransport (sockets, no privilege needed) is the usual one; tests join jobs by memory.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "dataplane/wire/header.h"
#include "tools/host/job_config.h"
#include "tools/host/packet_sink.h"

namespace l3dml::host {

class PacketReceiver {
 public:
  virtual ~PacketReceiver() = default;
  // A packet from the result source of stripe `stripe` (index into the job's stripes).
  virtual void on_packet(unsigned stripe, const wire::L3dmlHeader& header, const uint8_t* lanes,
                         size_t lane_count, unsigned shard, bool ce, int64_t now_ns) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Once, before anything else. Stripe i of the configuration is stripe i below.
  virtual absl::Status open(std::span<const StripeConfig> stripes) = 0;
  // From now on stripe `stripe` sends to another aggregator and hears another source: a new epoch. Its own
  // address and port stay.
  virtual void redirect(unsigned stripe, const StripeConfig& config) = 0;
  // Hands over what has arrived, a bounded burst; true if there may be more.
  virtual bool receive(PacketReceiver& receiver, int64_t now_ns) = 0;
  virtual PacketSink& sink(unsigned stripe) = 0;
  virtual void flush() = 0;  // what was committed goes out; what the kernel does not take is kept or dropped
  // Sleeps until something arrives, the deadline (base::kNever: none), room to send after a full sink, or
  // wake().
  // Arrivals do not end it before `quiet_ns` have passed: under load one wake-up then takes in many packets.
  virtual void wait(int64_t deadline_ns, int64_t quiet_ns) = 0;
  virtual void wake() = 0;  // any thread
  virtual int64_t now_ns() = 0;
};

}  // namespace l3dml::host
