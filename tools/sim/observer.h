// Who looks on while a world runs: the measuring modes learn here when numbers are sent and held, and may
// lose chosen packets. Random scenarios have none.
#pragma once

#include <cstdint>

#include "tools/sim/frame.h"

namespace l3dml::sim {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void sent(uint32_t, uint32_t, const wire::L3dmlHeader&, int64_t) {}  // job, member; every UP
  virtual void held(uint32_t, uint32_t, uint32_t, int64_t) {}                  // job, member, number
  virtual void ordinary(uint32_t, const base::Packet&, int64_t) {
  }  // host; a packet that is none of ours arrives
  virtual bool loses(const Frame&, bool) {
    return false;
  }  // arrives at a device (true: a host); true: it does not
};

}  // namespace l3dml::sim
