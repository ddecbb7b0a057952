// The seam between the tables of ports ($PORT, $PORT_STAT, tm.port, tm.counter) and whoever has the ports:
// the switch's application. Without one (schema mode) the tables hold state alone.
//
// Threads: what is marked so may be called from any; all else inside Executor::run(), while the pipeline
// stands. The driver outlives the server.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/io/mac_port.h"

namespace l3dml::server {

struct PortSettings {
  bool enabled = false;
  uint32_t speed_mbps = 0;  // nominal: an emulated port is as fast as what it is attached to
  io::MacSettings mac;      // receive and transmit also hold `enabled`
};

struct PortFigures {
  io::FrameCounters rx, tx;
  io::PortStats port;  // errors and drops that the attachment counts
  io::MacPort::Queue queue;
};

class PortDriver {
 public:
  struct Given {
    uint16_t port = 0;
    bool enabled = false;
  };
  virtual ~PortDriver() = default;
  // Ports that are in $PORT from the start: the configuration brought them. Any thread.
  virtual std::vector<Given> given() const = 0;
  // Is there such a port, can it be set like this? Any thread; an error goes to the client as it is.
  virtual absl::Status check(uint16_t port, const PortSettings& settings) const = 0;
  virtual bool has_link(uint16_t port) const = 0;  // as of the last look(); any thread

  virtual void configure(uint16_t port, const PortSettings& settings) = 0;
  virtual void remove(uint16_t port) = 0;
  virtual void look() = 0;  // at the state of all links
  virtual PortFigures figures(uint16_t port) const = 0;
  virtual void shape(uint16_t port, uint64_t rate_bps) = 0;  // 0: no limit of its own
  virtual void reset_mark(uint16_t port) = 0;                // the queue's high-water mark
};

}  // namespace l3dml::server
