// What the blocks of one pass tell each other about a packet: the user metadata of p4/types.p4. It lives for
// one pass of one packet, on the stack of the pipe.
#pragma once

#include <cstdint>

#include "dataplane/base/drop_reason.h"
#include "dataplane/base/packet.h"
#include "dataplane/base/trace.h"
#include "dataplane/wire/header.h"
#include "dataplane/wire/parse.h"

namespace l3dml::blocks {

enum class Role : uint8_t { none = 0, root = 1, inner = 2 };

// What admission says of the sender (action Ingress.admission.admit).
struct Admit {
  bool admitted = false;
  base::DropReason reject = base::DropReason::unknown_job;
  uint32_t mask = 0;      // the child's bit; 0 for the parent
  uint16_t children = 0;  // how many must be summed
  Role role = Role::none;
  uint16_t neighbor = 0;       // index of the (stripe, neighbour) pair the packet came from
  uint16_t neighbor_port = 0;  // device port towards it: answers leave there, wherever the packet came in
  uint16_t parent = 0;         // index of the parent's pair (inner)
  uint16_t parent_port = 0;    // device port towards the parent (inner)
  uint16_t mgid = 0;           // multicast group of the children
  uint16_t job_index = 0;
};

// Constants of a job at this switch (action Ingress.job.set_job).
struct Job {
  uint16_t lanes = 0;
  uint8_t shard_shift = 0;  // log2 of shards
  uint32_t slot_base = 0;   // first entry of its ring
  uint32_t ring_mask = 0;   // entries - 1
};

enum class Relation : uint8_t { older, equal, newer };  // the slot's stamp against the packet's number

struct SlotEntry {  // one entry of a ring but for its lanes
  uint32_t stamp;   // number it holds
  uint32_t bitmap;  // bits 0-30: children seen; bit 31: done
  uint16_t count;   // children still missing
  uint16_t weight;  // workers summed
  uint8_t exp;
  uint8_t exp_max;
};
constexpr uint32_t kDoneBit = 0x80000000;
constexpr uint16_t kMirrorSession = 512;  // + device port: the session that copies to it

enum class Step : uint8_t {
  drop,            // nothing leaves
  answer_down,     // the result to this child alone
  multicast_down,  // the result to all children
  send_up,         // the sum to the parent
  answer_probe,    // "yours is here" or "yours is missing"
};

struct Hole {  // sequence numbers [first, end) did not arrive
  uint32_t first = 0, end = 0;
  bool exists() const { return first != end; }
};

struct Context {
  base::Packet* packet = nullptr;
  wire::Head* head = nullptr;
  wire::Parsed parsed;
  int64_t now_ns = 0;

  const Admit* admit = nullptr;
  const Job* job = nullptr;
  uint32_t number = 0;
  uint32_t slot = 0;         // index into the pipe's slots
  uint32_t local_shard = 0;  // which of the pipe's shards
  uint32_t segment = 0;      // index into the pipe's segment registers: that of `neighbor`

  SlotEntry* entry = nullptr;
  Relation relation = Relation::older;
  bool restart = false;   // the entry begins anew with this packet
  bool adding = false;    // this packet's lanes, exponent and weight go into the entry
  bool seen = false;      // the child was already there
  bool done = false;      // the entry was final before this packet
  bool complete = false;  // every child is there

  Step step = Step::drop;
  uint8_t probe_answer = 0;
  bool again = false;  // what leaves was sent before
  base::DropReason reason = base::DropReason::none;

  uint64_t id = 0;  // of the packet, for traces
  base::TraceSink* trace = nullptr;

  wire::Type type() const { return head->l3dml.type(); }
  bool down_flag() const { return head->l3dml.flags & wire::kFlagDown; }
  bool has_lanes() const { return parsed.lane_count != 0; }
  bool congested() const { return parsed.ce || (head->l3dml.flags & wire::kFlagEce); }
};

}  // namespace l3dml::blocks
