// The admission entries of one stripe at one aggregator: who may send what from where, and which reason the
// others get.
#pragma once

#include <cstdint>
#include <vector>

#include "control/jobs/entry.h"
#include "control/jobs/program.h"

namespace l3dml::control {

struct Peer {
  bool parent = false;
  uint8_t child = 0;     // header's child: the peer's index here, or our own index at the parent
  uint16_t locator = 0;  // of its source address
  uint32_t host = 0;     // low 32 bits of its source address
  int edge_port = -1;    // device port where its packets must arrive; -1: any (WAN)
  uint16_t neighbor = 0;
  uint16_t port = 0;  // device port towards it
};

struct AdmissionSpec {
  uint16_t job = 0;
  uint8_t epoch = 0;
  uint32_t slot_base = 0, ring = 0;
  uint8_t children = 0;
  Role role = Role::root;
  uint16_t parent_neighbor = 0, parent_port = 0;  // inner only
  uint16_t mgid = 0, job_index = 0;
  std::vector<Peer> peers;
};

std::vector<Entry> admission_entries(const AdmissionSpec& spec);

}  // namespace l3dml::control
