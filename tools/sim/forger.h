// Makes packets that nobody meant out of those that a device gets: such as a stranger, a broken member or a
// forgotten queue could send. They must be refused, or at worst cost little. It keeps some frames of the
// past.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/packet.h"
#include "tools/sim/random.h"

namespace l3dml::sim {

class Forger {
 public:
  // Both outlive it.
  Forger(Random* random, base::PacketPool* pool) : random_(*random), pool_(*pool) {}

  void remember(uint32_t device, const base::Packet& packet);
  // A packet to arrive at `device` right after `original`; null: this time none.
  base::Packet* forge(uint32_t device, const base::Packet& original);

 private:
  struct Kept {
    uint32_t device = 0;
    uint16_t port = 0;
    std::vector<uint8_t> frame;
  };
  base::Packet* replay(uint32_t device);

  Random& random_;
  base::PacketPool& pool_;
  std::vector<Kept> kept_;  // what devices got
};

}  // namespace l3dml::sim
