// Who sends what: emulated workers and the ports they live behind. Built from a switch that the generator
// programs itself (program.h), from job files, or by tests.
#pragma once

#include <vector>

#include "dataplane/io/port.h"
#include "tools/host/frame.h"

namespace l3dml::gen {

struct Member {  // one worker of one job
  host::StripeConfig stripe;
  wire::MacAddress own{}, next{};  // link-layer addresses: its own, and the switch's
  unsigned port = 0;               // index into PortSet::ports
};

struct JobTraffic {  // all workers of one job, by child
  std::vector<Member> members;
  double share = 1;  // of the numbers sent, relative to the other jobs
};

struct PortSet {
  std::vector<io::Port*> ports;
  base::PacketPool* pool = nullptr;
};

// What came back and was no result of ours, by what it was.
struct Strays {
  uint64_t foreign = 0;     // no L3DML datagram: neighbour discovery, other traffic
  uint64_t unwanted = 0;    // L3DML, but not from our switch to a worker of ours, or a field that cannot be
  uint64_t nacks = 0;       // the switch misses packets
  uint64_t syncs = 0;       // the switch says how far it has counted
  uint64_t duplicates = 0;  // a result once more
  uint64_t late = 0;        // a result of an earlier trial
};

}  // namespace l3dml::gen
